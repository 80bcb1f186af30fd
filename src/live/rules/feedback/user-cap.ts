/**
 * A cap on what one user adds to the measures of an hour and of a day, against click spam. Feedback beyond the cap is
 * stored and not counted.
 *
 * Hours and days are those of UTC in which the feedback occurred, not in which it came: what arrives late is held
 * against its own hour, deciding again gives the same answer, and no window of a measure holds more of one user than
 * the caps of its hours, whatever times were sent.
 */
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';
import { type FeedbackKind, feedbackKinds } from '../live-query.ts';

/**
 * - `explicit`: the user said what they think (thumb, rating, relevance)
 * - `engagement`: the user went on with an answer (click, copy)
 * - `struggle`: the user did not get on (reformulation, abandonment, no_answer)
 */
export type KindGroup = 'explicit' | 'engagement' | 'struggle';

const groups = {
  thumb: 'explicit',
  rating: 'explicit',
  relevance: 'explicit',
  click: 'engagement',
  copy: 'engagement',
  reformulation: 'struggle',
  abandonment: 'struggle',
  no_answer: 'struggle',
} as const satisfies Record<FeedbackKind, KindGroup>;

/** The group of a kind. */
export function kindGroupOf(kind: FeedbackKind): KindGroup {
  return groups[kind];
}

/**
 * Which feedback a measure is taken from. Explicit opinions are rare and come from the pleased and the angry; implicit
 * ones come from everybody and say less. A measure over both follows the clicks, which are the most.
 */
export const feedbackBases = ['all', 'explicit', 'implicit'] as const;

export type FeedbackBasis = (typeof feedbackBases)[number];

/** The kinds of a basis, in the order of the contract. */
export function kindsOf(basis: FeedbackBasis): readonly FeedbackKind[] {
  if (basis === 'all') return feedbackKinds;
  return feedbackKinds.filter((kind) => (groups[kind] === 'explicit') === (basis === 'explicit'));
}

/** Each group has a cap of its own, so that spam of clicks cannot crowd out the complaints. */
export type FeedbackCaps = Readonly<Record<KindGroup, { readonly perHour: number; readonly perDay: number }>>;

/** More than a diligent user gives, far less than a script does. */
export const defaultFeedbackCaps: FeedbackCaps = {
  explicit: { perHour: 30, perDay: 100 },
  engagement: { perHour: 60, perDay: 300 },
  struggle: { perHour: 30, perDay: 100 },
};

/** A feedback as the cap sees it. */
export interface CapCandidate {
  readonly id: string;
  readonly pipeline: string;
  readonly queryId: string;
  readonly kind: FeedbackKind;
  /** The keyed hash of the user, null for anonymous feedback. */
  readonly author: string | null;
  readonly occurredAt: Date;
}

/** Feedback that is counted together: that of one subject, of one group of kinds, on one pipeline. */
interface CapSubject {
  readonly pipeline: string;
  /** From `capSubjectOf`. */
  readonly subject: string;
  readonly group: KindGroup;
}

export interface CapDay extends CapSubject {
  /** Start of the day in UTC. */
  readonly day: Date;
}

/** A row of the count that the store makes for the days of `capDays`. */
export interface CountedHour extends CapSubject {
  /** Start of the hour in UTC. */
  readonly hour: Date;
  /** Stored feedback that is counted; > 0. */
  readonly counted: number;
}

/**
 * Whom a cap is for: the user, or the query where the feedback is anonymous, since nothing else is known of the user.
 */
export function capSubjectOf(candidate: Pick<CapCandidate, 'author' | 'queryId'>): string {
  const { author, queryId } = candidate;
  return JSON.stringify(author === null ? ['query', queryId] : ['user', author]);
}

/**
 * The days of which the store must count the hours before a batch can be judged, each once. One statement does it:
 * counted feedback of these (pipeline, subject, group, day), grouped by them and the hour.
 */
export function capDays(batch: readonly CapCandidate[]): CapDay[] {
  const days = new Map<string, CapDay>();
  for (const candidate of batch) {
    const { pipeline, subject, group } = subjectOf(candidate);
    const start = startOf(candidate.occurredAt, DAY_MS);
    days.set(bucketKey(candidate, start), { pipeline, subject, group, day: new Date(start) });
  }
  return [...days.values()];
}

/**
 * For each of a batch, whether it is counted: while its subject has counted fewer than the cap of its group in its
 * hour and in its day. The batch is judged in its order; what repeats an id of the batch has the answer of the first
 * and takes no place.
 *
 * Batches that are judged at the same moment do not see each other, so that a subject may pass the cap by what it
 * sends in those few milliseconds.
 *
 * @param batch without what is stored already, which keeps the answer that it was given
 * @param counted of all `capDays(batch)`; hours without a row have counted none
 */
export function withinCaps(
  batch: readonly CapCandidate[],
  counted: readonly CountedHour[],
  caps: FeedbackCaps,
): boolean[] {
  const hours = new Map<string, number>();
  const days = new Map<string, number>();
  for (const row of counted) {
    const start = row.hour.getTime();
    add(hours, keyOf(row, start), row.counted);
    add(days, keyOf(row, startOf(row.hour, DAY_MS)), row.counted);
  }
  const answers = new Map<string, boolean>();
  return batch.map((candidate) => {
    const identity = JSON.stringify([candidate.pipeline, candidate.id]);
    const given = answers.get(identity);
    if (given !== undefined) return given;
    const hour = bucketKey(candidate, startOf(candidate.occurredAt, HOUR_MS));
    const day = bucketKey(candidate, startOf(candidate.occurredAt, DAY_MS));
    const cap = caps[kindGroupOf(candidate.kind)];
    const isWithin = (hours.get(hour) ?? 0) < cap.perHour && (days.get(day) ?? 0) < cap.perDay;
    answers.set(identity, isWithin);
    if (isWithin) {
      add(hours, hour, 1);
      add(days, day, 1);
    }
    return isWithin;
  });
}

function subjectOf(candidate: CapCandidate): CapSubject {
  const { pipeline, kind } = candidate;
  return { pipeline, subject: capSubjectOf(candidate), group: kindGroupOf(kind) };
}

function bucketKey(candidate: CapCandidate, start: number): string {
  return keyOf(subjectOf(candidate), start);
}

function keyOf({ pipeline, subject, group }: CapSubject, start: number): string {
  return JSON.stringify([pipeline, subject, group, start]);
}

/** Leap seconds do not exist in Unix time, so days and hours are multiples of their length. */
function startOf(time: Date, lengthMs: number): number {
  return Math.floor(time.getTime() / lengthMs) * lengthMs;
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
