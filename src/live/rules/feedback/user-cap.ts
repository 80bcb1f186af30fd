/**
 * Caps the number of a user's feedback items that are counted per hour and per day, to prevent click spam. Feedback
 * beyond the cap is stored but not counted.
 *
 * Feedback counts in the hour and the day (UTC) in which it occurred, not in which it arrived. The decision is
 * therefore repeatable, and the number of a user's items that are counted in a window never exceeds the sum of the
 * hourly caps in that window.
 */
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';
import { type FeedbackKind, feedbackKinds, type OpinionKind } from '../live-query.ts';

export type KindGroup = 'explicit' | 'engagement' | 'struggle';

export const kindGroups = {
  thumb: 'explicit',
  rating: 'explicit',
  relevance: 'explicit',
  click: 'engagement',
  copy: 'engagement',
  reformulation: 'struggle',
  abandonment: 'struggle',
  no_answer: 'struggle',
} as const satisfies Record<OpinionKind, KindGroup>;

/**
 * Which feedback a measure uses: all, only explicit, or only implicit feedback. Explicit ratings are rare and come from
 * very satisfied or dissatisfied users; implicit feedback comes from all users but is a weaker signal. In a measure
 * that combines explicit and implicit feedback, clicks dominate.
 */
export const feedbackBases = ['all', 'explicit', 'implicit'] as const;

export type FeedbackBasis = (typeof feedbackBases)[number];

/** Returns the kinds of feedback that a basis includes, in the order of the HTTP contract. */
export function kindsOf(basis: FeedbackBasis): readonly OpinionKind[] {
  const opinionKinds = feedbackKinds.filter((kind) => kind !== 'citation');
  if (basis === 'all') return opinionKinds;
  return opinionKinds.filter((kind) => (kindGroups[kind] === 'explicit') === (basis === 'explicit'));
}

/** Each group of kinds has a separate cap, so that click spam cannot crowd out complaints. */
export type FeedbackCaps = Readonly<Record<KindGroup, { readonly per_hour: number; readonly per_day: number }>>;

/** Default caps: far more feedback than a diligent user sends, and far less than a script sends. */
export const defaultFeedbackCaps: FeedbackCaps = {
  explicit: { per_hour: 30, per_day: 100 },
  engagement: { per_hour: 60, per_day: 300 },
  struggle: { per_hour: 30, per_day: 100 },
};

export interface CapCandidate {
  readonly caps: FeedbackCaps;
  readonly id: string;
  readonly pipeline: string;
  readonly queryId: string;
  readonly kind: FeedbackKind;
  /** Keyed hash of the user; null for anonymous feedback. */
  readonly userHash: string | null;
  readonly occurredAt: Date;
}

type CappedCandidate = CapCandidate & { readonly kind: OpinionKind };

/**
 * Citations have no cap, because a service cites more documents than a user clicks, and citations change no measure.
 */
function isCapped(candidate: CapCandidate): candidate is CappedCandidate {
  return candidate.kind !== 'citation';
}

/**
 * Identifies the feedback to which a cap applies: the feedback of one subject, in one group of kinds, on one pipeline.
 */
type CapSubject = ReturnType<typeof subjectOf>;

export interface CountedHour extends CapSubject {
  /** Start of the hour in UTC. */
  readonly hour: Date;
  /** Number of counted items, > 0. */
  readonly counted: number;
}

/** Returns the subject of a cap: the user, or the query if the feedback is anonymous. */
export function capSubjectOf({ userHash, queryId }: Pick<CapCandidate, 'userHash' | 'queryId'>): string {
  return JSON.stringify(userHash === null ? ['query', queryId] : ['user', userHash]);
}

export type CapDay = ReturnType<typeof capDays>[number];

/**
 * Returns, without duplicates, each (pipeline, subject, group, day) for which `withinCaps` needs the counts per hour.
 */
export function capDays(batch: readonly CapCandidate[]) {
  const days = new Map<string, CapSubject & { readonly day: Date }>();
  for (const candidate of batch.filter(isCapped)) {
    const subject = subjectOf(candidate);
    const start = startOf(candidate.occurredAt, DAY_MS);
    days.set(keyOf(subject, start), { ...subject, day: new Date(start) });
  }
  return [...days.values()];
}

/**
 * Decides for each item of a batch whether it counts. An item counts if its user is still below the hourly and the
 * daily cap of the item's group of kinds. Items are evaluated in order. An item with a repeated id gets the decision of
 * the first item with that id, and does not use up the cap.
 *
 * Concurrent batches do not see each other's items, so a subject may exceed the cap by the number of items sent within
 * a few milliseconds.
 *
 * @param batch items that are not stored yet; stored items keep their decision
 * @param counted items counted so far in each hour of `capDays(batch)`; missing hours count as 0
 */
export function withinCaps(batch: readonly CapCandidate[], counted: readonly CountedHour[]): boolean[] {
  const hours = new Map<string, number>();
  const days = new Map<string, number>();
  for (const row of counted) {
    const start = row.hour.getTime();
    add(hours, keyOf(row, start), row.counted);
    add(days, keyOf(row, startOf(row.hour, DAY_MS)), row.counted);
  }
  const decisions = new Map<string, boolean>();
  return batch.map((candidate) => {
    if (!isCapped(candidate)) return true;
    const identity = JSON.stringify([candidate.pipeline, candidate.id]);
    const known = decisions.get(identity);
    if (known !== undefined) return known;
    const subject = subjectOf(candidate);
    const hour = keyOf(subject, startOf(candidate.occurredAt, HOUR_MS));
    const day = keyOf(subject, startOf(candidate.occurredAt, DAY_MS));
    const cap = candidate.caps[subject.group];
    const isWithin = (hours.get(hour) ?? 0) < cap.per_hour && (days.get(day) ?? 0) < cap.per_day;
    decisions.set(identity, isWithin);
    if (isWithin) {
      add(hours, hour, 1);
      add(days, day, 1);
    }
    return isWithin;
  });
}

function subjectOf(candidate: CappedCandidate) {
  const { pipeline, kind } = candidate;
  return { pipeline, subject: capSubjectOf(candidate), group: kindGroups[kind] };
}

function keyOf({ pipeline, subject, group }: CapSubject, start: number): string {
  return JSON.stringify([pipeline, subject, group, start]);
}

/** Start of the hour or day. Unix time has no leap seconds, so hours and days start at multiples of their length. */
function startOf(time: Date, lengthMs: number): number {
  return Math.floor(time.getTime() / lengthMs) * lengthMs;
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
