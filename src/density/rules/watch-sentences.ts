import { decimal, interval, minute, percentage } from '../../core/format.ts';
import { toDocument } from '../../core/text/names.ts';
import type { AlertEvent, AlertLevel } from './alert.ts';
import type { RegionRow } from './baseline-spread.ts';
import type { CauseReading, CoverageCause, Novelty } from './cause.ts';
import type { FingerprintField } from './measurement-change.ts';
import type { PooledDensity } from './pooled-density.ts';
import { UNCOVERED_PERCENTILE, type UncoveredShare } from './query-density.ts';
import type {
  AlertToInvestigate,
  BuiltBaseline,
  NewDensityEvent,
  RebaselineRequest,
  WatchObservation,
} from './watch-state.ts';

export interface LostChunks {
  readonly probed: number;
  readonly missing: number;
  /** Ids of some of the missing chunks. */
  readonly ids: readonly string[];
}

const MAX_REGIONS = 3;

/**
 * @param uncovered share of all traffic that is uncovered in the period of the alert
 * @param regions regions that contribute to the drop, largest contribution first
 * @param lost chunks that are missing from the store; null if unknown
 */
export function raisedEvent(
  pipeline: string,
  alert: AlertToInvestigate,
  uncovered: UncoveredShare,
  regions: readonly RegionRow[],
  novelty: Novelty | null,
  reading: CauseReading,
  lost: LostChunks | null,
): NewDensityEvent {
  const { level, raised, evidenceRatio, baselineVersion, history } = alert;
  const { size, renewed } = raised;
  // The region that explains most of the drop.
  const region = regions.find(({ explained }) => explained > 0);
  const gone =
    lost === null || lost.missing === 0
      ? []
      : [`${lost.missing} of ${lost.probed} chunks found by baseline queries are missing from the store.`];
  const sentences = [
    `Query density of ${pipeline} ${renewed ? 'is still' : 'dropped to'} ${decimal(size.density)} ${boundsOf(size)}; the baseline is 1.`,
    `${percentage(uncovered.share)} of traffic is poorly covered, ${percentage(UNCOVERED_PERCENTILE)} in the baseline; drift confirmed (${level}).`,
    ...(region === undefined ? [] : [regionSentence(region)]),
    ...readingSentences(reading),
    ...gone,
  ];
  const details = {
    level,
    renewed,
    evidence_ratio: evidenceRatio,
    baseline: baselineVersion,
    ...sizeDetails(size),
    uncovered_ratio: uncovered.share,
    uncovered_excess_ratio: uncovered.excess,
    uncovered_excess_ci_low: uncovered.excessLow,
    uncovered_excess_ci_high: uncovered.excessHigh,
    regions: toDocument(regions.slice(0, MAX_REGIONS)),
    cause: reading.cause,
    cause_confidence: reading.confidence,
    golden_confirms: reading.confirmed,
    novel_ratio: novelty?.share ?? null,
    lost_chunks: lost,
  };
  const occurredAt = new Date(history.at(-1)?.endMs ?? size.endMs);
  return { kind: level, occurredAt, sentence: sentences.join(' '), details };
}

export function resolvedEvent(
  pipeline: string,
  level: AlertLevel,
  { size }: Extract<AlertEvent, { kind: 'resolved' }>,
  occurredAt: Date,
): NewDensityEvent {
  const sentence = `Query density of ${pipeline} recovered to ${decimal(size.density)} ${boundsOf(size)}; the ${level} is resolved.`;
  return { kind: 'resolve', occurredAt, sentence, details: { level, ...sizeDetails(size) } };
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

export function baselineEvent(
  pipeline: string,
  { baseline, version, reason, closedMs, details }: BuiltBaseline,
): NewDensityEvent {
  const { grade, days, sessions, period } = baseline;
  const provisional = grade === 'page' ? '' : ' The baseline is provisional, so only ticket alerts can fire.';
  return {
    kind: 'rebaseline',
    occurredAt: new Date(closedMs),
    sentence: `New density baseline for ${pipeline}: version ${version}, ${sessions} sessions in ${days} days (${reason}).${provisional}`,
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

export function requestEvent(pipeline: string, { at, reason, since }: RebaselineRequest): NewDensityEvent {
  return {
    kind: 'reset',
    occurredAt: at,
    sentence: `A new density baseline for ${pipeline} was requested manually${reason === null ? '' : `: ${reason}`}.`,
    details: { requested: true, since: since?.toISOString() ?? null },
  };
}

type MeasurementChanged = Extract<WatchObservation, { kind: 'measurement_changed' }>;

export function changeEvent(
  pipeline: string,
  isLearning: boolean,
  { changed, at, consequence }: MeasurementChanged,
): NewDensityEvent {
  return {
    kind: 'reset',
    occurredAt: at,
    sentence: `The ${namesOf(changed)} of ${pipeline} changed; this is not drift. ${consequenceSentence(isLearning, consequence)}`,
    details: { changed, ...consequenceDetails(consequence) },
  };
}

export function changeReason(changed: readonly FingerprintField[]): string {
  return `a change of ${namesOf(changed)}`;
}

function consequenceSentence(isLearning: boolean, consequence: MeasurementChanged['consequence']): string {
  switch (consequence.kind) {
    case 'keep':
      return `${consequence.searched.queries} replayed baseline queries find the same chunks, so the baseline remains valid.`;
    case 'replay':
      return `${consequence.queries} baseline queries are being replayed; density alerts are paused until the replay has finished.`;
    case 'learn':
      return isLearning
        ? 'recalld now learns a new baseline.'
        : 'The baseline queries are no longer stored, so recalld now learns a new baseline.';
  }
}

function consequenceDetails(consequence: MeasurementChanged['consequence']): NewDensityEvent['details'] {
  if (consequence.kind === 'learn') return {};
  if (consequence.kind === 'replay') return { replayed: consequence.queries };
  const { queries, meanOverlap, meanScoreChange } = consequence.searched;
  return { kept: true, replayed: queries, mean_overlap: meanOverlap, mean_score_change: meanScoreChange };
}

const fieldNames: Readonly<Partial<Record<FingerprintField, string>>> = {
  embeddingModel: 'embedding model',
  embeddingRevision: 'embedding canary',
  dimension: 'vector dimension',
  indexType: 'index',
  metric: 'index metric',
};

function namesOf(changed: readonly FingerprintField[]): string {
  return changed.map((field) => fieldNames[field] ?? field).join(', ');
}

const causeSentences: Readonly<Record<CoverageCause, string>> = {
  content_gap: 'The queries are new: users are asking about content that the store does not have.',
  lost_content: 'The kinds of queries have not changed: the store or its index lost content.',
};

const familiarQueries =
  'The queries resemble earlier queries, but golden scores are unchanged and no chunk is known to be missing. Users are probably asking, in familiar words, about content that is not in the store.';

function readingSentences({ cause, confidence, confirmed }: CauseReading): readonly string[] {
  const weighed = `Confidence: ${confidence}.`;
  if (cause === 'content_gap' && confidence === 'low') return [familiarQueries, weighed];
  const golden = confirmed === null ? [] : [`Golden queries ${confirmed ? 'confirm this' : 'do not confirm this'}.`];
  return [causeSentences[cause], ...golden, weighed];
}

function regionSentence({ share, baselineShare, density }: RegionRow): string {
  const now = density === null ? '' : ` at a density of ${decimal(density)}`;
  return `Most of the drop is in one group of similar queries: ${percentage(share)} of traffic${now}, ${percentage(baselineShare)} in the baseline.`;
}

function boundsOf({ low, high, sessions, startMs }: PooledDensity): string {
  return `(${interval(low, high)}, ${sessions} sessions since ${minute(new Date(startMs))} UTC)`;
}
