/** What the watch over query density says to people, with its numbers. */

import { decimal, interval, minute, percentage } from '../../core/format.ts';
import type { AlertEvent, AlertLevel } from './alert.ts';
import type { RegionRow } from './baseline-spread.ts';
import type { CauseReading, CoverageCause, Novelty } from './cause.ts';
import type { FingerprintField } from './measurement-change.ts';
import type { PooledDensity, Scope } from './pooled-density.ts';
import type { UncoveredShare } from './query-density.ts';
import type {
  AlertToInvestigate,
  BuiltBaseline,
  NewDensityEvent,
  RebaselineRequest,
  WatchObservation,
} from './watch-state.ts';

/** What lies behind an alarm. */
interface Investigation {
  readonly uncovered: UncoveredShare;
  /** Most of the fall first. */
  readonly regions: readonly RegionRow[];
  readonly novelty: Novelty | null;
  readonly reading: CauseReading;
  /** Chunks that baseline queries found and that the store no longer holds; null when nobody looked, or could. */
  readonly lost: LostChunks | null;
}

export interface LostChunks {
  readonly probed: number;
  readonly missing: number;
  /** Some of them. */
  readonly ids: readonly string[];
}

const MAX_REGIONS = 3;

/** A raised alarm, with what is behind it. */
export function raisedEvent(
  pipeline: string,
  { level, raised, evidenceRatio, baselineVersion, history }: AlertToInvestigate,
  { uncovered, regions, novelty, reading, lost }: Investigation,
): NewDensityEvent {
  const { scope, size, renewed, leading } = raised;
  const region = regions.find(({ explained }) => explained > 0) ?? null;
  const sentence = raisedSentence({
    pipeline,
    level,
    renewed,
    scope,
    size,
    uncovered,
    evidenceRatio,
    region,
    reading,
  });
  const details = {
    level,
    renewed,
    scope,
    leading,
    evidence_ratio: evidenceRatio,
    baseline: baselineVersion,
    ...sizeDetails(size),
    uncovered_ratio: uncovered.share,
    uncovered_excess_ratio: uncovered.excess,
    uncovered_excess_ci_low: uncovered.excessLow,
    uncovered_excess_ci_high: uncovered.excessHigh,
    regions: regions.slice(0, MAX_REGIONS).map((row) => ({
      region: row.region,
      share: row.share,
      baseline_share: row.baselineShare,
      density: row.density,
      explained: row.explained,
    })),
    cause: reading.cause,
    cause_confidence: reading.confidence,
    golden_confirms: reading.confirmed,
    novel_ratio: novelty?.share ?? null,
    lost_chunks: lost,
  };
  const gone =
    lost === null || lost.missing === 0
      ? ''
      : ` ${lost.missing} of ${lost.probed} chunks that baseline queries found are gone from the store.`;
  const occurredAt = new Date(history.at(-1)?.endMs ?? size.endMs);
  return { kind: level, occurredAt, sentence: `${sentence}${gone}`, details };
}

export function resolvedEvent(
  pipeline: string,
  level: AlertLevel,
  { scope, size }: Extract<AlertEvent, { kind: 'resolved' }>,
  occurredAt: Date,
): NewDensityEvent {
  const sentence = resolvedSentence(pipeline, level, scope, size);
  return { kind: 'resolve', occurredAt, sentence, details: { level, scope, ...sizeDetails(size) } };
}

function sizeDetails({ density, low, high, sessions, startMs }: PooledDensity) {
  return {
    density,
    density_ci_low: low,
    density_ci_high: high,
    sessions,
    since: new Date(startMs).toISOString(),
  };
}

/** A baseline that live queries are held against from now on. */
export function baselineEvent(
  pipeline: string,
  { baseline, version, reason, closedMs, details }: BuiltBaseline,
): NewDensityEvent {
  const { grade, days, sessions, period } = baseline;
  const provisional = grade === 'page' ? '' : ' It is provisional: tickets, no pages.';
  return {
    kind: 'rebaseline',
    occurredAt: new Date(closedMs),
    sentence: `Query density of ${pipeline} is now held against baseline ${version}, ${sessions} sessions of ${days} days: ${reason}.${provisional}`,
    details: {
      baseline: version,
      grade,
      days,
      sessions,
      from: period.from.toISOString(),
      until: period.until.toISOString(),
      ...details,
    },
  };
}

/** A person asked for a new baseline. */
export function requestEvent(pipeline: string, { at, reason, since }: RebaselineRequest): NewDensityEvent {
  return {
    kind: 'reset',
    occurredAt: at,
    sentence: `A new density baseline of ${pipeline} was asked for${reason === null ? '' : `: ${reason}`}.`,
    details: { requested: true, since: since?.toISOString() ?? null },
  };
}

type PartsChanged = Extract<WatchObservation, { kind: 'parts_changed' }>;

/** Something that is measured with changed, and what became of the baseline. */
export function changeEvent(
  pipeline: string,
  isLearning: boolean,
  { changed, at, consequence }: PartsChanged,
): NewDensityEvent {
  return {
    kind: 'reset',
    occurredAt: at,
    sentence: `What the density of ${pipeline} is measured with changed (${namesOf(changed)}); this is no drift. ${consequenceSentence(isLearning, consequence)}`,
    details: { changed, ...consequenceDetails(consequence) },
  };
}

/** Why a baseline is built after the change, for people. */
export function changeReason(changed: readonly FingerprintField[]): string {
  return `a change of ${namesOf(changed)}`;
}

function consequenceSentence(isLearning: boolean, consequence: PartsChanged['consequence']): string {
  switch (consequence.kind) {
    case 'keep':
      return `${consequence.searched.queries} baseline queries find the same as before, so that the baseline stays.`;
    case 'replay':
      return `${consequence.queries} baseline queries are searched anew; the alarm rests until then.`;
    case 'learn':
      return isLearning
        ? 'The baseline is learnt from now on.'
        : 'No query of the baseline is kept, so that a new one is learnt from now on.';
  }
}

function consequenceDetails(consequence: PartsChanged['consequence']): NewDensityEvent['details'] {
  if (consequence.kind === 'learn') return {};
  if (consequence.kind === 'replay') return { replayed: consequence.queries };
  const { queries, meanOverlap, meanScoreChange } = consequence.searched;
  return { kept: true, replayed: queries, mean_overlap: meanOverlap, mean_score_change: meanScoreChange };
}

const fieldNames: Readonly<Partial<Record<FingerprintField, string>>> = {
  embeddingModel: 'embedding model',
  embeddingRevision: 'vectors of the embedding model',
  dimension: 'dimension of the vectors',
  indexType: 'index',
  metric: 'metric of the index',
};

function namesOf(changed: readonly FingerprintField[]): string {
  return changed.map((field) => fieldNames[field] ?? field).join(', ');
}

export interface RaisedAlert {
  readonly pipeline: string;
  readonly level: AlertLevel;
  readonly renewed: boolean;
  readonly scope: Scope;
  readonly size: PooledDensity;
  /** Of all traffic in the same time. */
  readonly uncovered: UncoveredShare;
  readonly evidenceRatio: number;
  /** The region that explains most of the fall; null when there is none. */
  readonly region: RegionRow | null;
  readonly reading: CauseReading;
}

const causeSentences: Readonly<Record<CoverageCause, string>> = {
  embedding_changed: 'The embedding model changed, so that densities before and after cannot be compared.',
  content_gap: 'The questions are new: people ask what the store does not hold.',
  lost_content: 'The questions are the old ones: the store or its index lost something.',
  topic_mix: 'Other topics are asked about, all of them covered: no action is needed.',
  steady: 'Nothing else changed.',
};

export function raisedSentence(alert: RaisedAlert): string {
  const { pipeline, level, renewed, scope, size, uncovered, evidenceRatio, region, reading } = alert;
  const of = scope === 'global' ? pipeline : `one group of similar queries of ${pipeline}`;
  const sentences = [
    `Query density of ${of} ${renewed ? 'is still' : 'fell to'} ${decimal(size.density)} ${boundsOf(size)}, where 1 is as in the baseline.`,
    `${percentage(uncovered.share)} of all traffic is badly covered, where the baseline has ${percentage(uncovered.threshold)}: at least ${percentage(uncovered.excess)} of it lost its coverage.`,
    ...(region === null ? [] : [regionSentence(region)]),
    ...readingSentences(reading),
    `The evidence is ${decimal(evidenceRatio)} times what a ${level} takes.`,
  ];
  return sentences.join(' ');
}

const likeKnownQuestions =
  'The questions are like the old ones, but the golden queries are covered as before and no chunk is known to be missing: probably people ask what the store does not hold, in words that it knows.';

function readingSentences({ cause, confidence, confirmed }: CauseReading): readonly string[] {
  const weighed = confidence === null ? [] : [`The confidence in this reading is ${confidence}.`];
  if (cause === 'content_gap' && confidence === 'low') return [likeKnownQuestions, ...weighed];
  const golden = confirmed === null ? [] : [`The golden queries ${confirmed ? 'bear it out' : 'do not bear it out'}.`];
  return [causeSentences[cause], ...golden, ...weighed];
}

export function resolvedSentence(pipeline: string, level: AlertLevel, scope: Scope, size: PooledDensity): string {
  const of = scope === 'global' ? pipeline : `one group of similar queries of ${pipeline}`;
  return `Query density of ${of} is back at ${decimal(size.density)} ${boundsOf(size)}; the ${level} is resolved.`;
}

function regionSentence({ share, baselineShare, density }: RegionRow): string {
  const now = density === null ? '' : ` at a density of ${decimal(density)}`;
  return `Most of the fall lies in one group of similar queries, which has ${percentage(share)} of the traffic${now} and had ${percentage(baselineShare)}.`;
}

function boundsOf({ low, high, sessions, startMs }: PooledDensity): string {
  return `(${interval(low, high)}, ${sessions} sessions since ${minute(new Date(startMs))} UTC)`;
}
