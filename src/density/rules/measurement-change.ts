/** When a baseline stops being one: another embedding model, another index, or a store that grew. */
import type { CanaryVerdict } from './embedding-canary.ts';

/** What scores depend on beside queries and content. Values are short texts; an unknown one is empty. */
export interface MeasurementFingerprint {
  readonly embeddingModel: string;
  readonly embeddingRevision: string;
  readonly dimension: string;
  readonly normalisation: string;
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  readonly metric: string;
  readonly chunkerVersion: string;
  readonly indexType: string;
  readonly searchParameters: string;
  readonly k: string;
  readonly filterClass: string;
  readonly scoreField: string;
}

export type FingerprintField = keyof MeasurementFingerprint;

/** A change of one of these makes vectors, or what is compared, others: no replay can save the baseline. */
const INCOMPARABLE: ReadonlySet<FingerprintField> = new Set([
  'embeddingModel',
  'embeddingRevision',
  'dimension',
  'normalisation',
  'queryPrefix',
  'documentPrefix',
  'metric',
  'k',
  'filterClass',
  'scoreField',
]);

/** The fields that differ, in the order of their names. Content that comes or goes is no difference. */
export function fingerprintDifferences(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): readonly FingerprintField[] {
  return (Object.keys(before) as FingerprintField[]).filter((field) => before[field] !== after[field]).toSorted();
}

/** The retained baseline queries searched again through what is new. */
export interface Replay {
  /** Mean over the queries of the score after less before. */
  readonly meanScoreChange: number;
  /** Mean share of the k best chunks that stayed. */
  readonly meanOverlap: number;
}

const MAX_REPLAY_CHANGE = 0.01;
const MIN_REPLAY_OVERLAP = 0.9;

/** Whether a replay shows that an index change left the scores as they were: |change| < 0.01 and overlap > 0.9. */
export function replayAgrees({ meanScoreChange, meanOverlap }: Replay): boolean {
  return Math.abs(meanScoreChange) < MAX_REPLAY_CHANGE && meanOverlap > MIN_REPLAY_OVERLAP;
}

/**
 * `keep`: go on. `replay`: freeze the detectors until the baseline queries were searched again. `rebaseline`: freeze
 * them until there is a new baseline. Freezing is one annotated change, never drift.
 */
interface RebaselineDecision {
  readonly action: 'keep' | 'replay' | 'rebaseline';
  readonly changed: readonly FingerprintField[];
  readonly canary: CanaryVerdict | null;
}

/**
 * What a changed fingerprint or canary asks for. A new embedding always asks for a new baseline; a new index of the
 * same model keeps the old one when a replay agrees.
 *
 * @param replay null when none was made
 */
export function rebaselineDecision(
  changed: readonly FingerprintField[],
  canary: CanaryVerdict | null,
  replay: Replay | null,
): RebaselineDecision {
  const decide = (action: RebaselineDecision['action']): RebaselineDecision => ({ action, changed, canary });
  if (canary === 'changed' || changed.some((field) => INCOMPARABLE.has(field))) return decide('rebaseline');
  if (changed.length === 0) return decide('keep');
  if (replay === null) return decide('replay');
  return decide(replayAgrees(replay) ? 'keep' : 'rebaseline');
}

const GROWTH = 1.1;
export const GROWTH_DAYS = 14;

/**
 * Whether the store covers live queries so much better than the baseline that a later loss of the gain would stay
 * unseen: density above 1.1 times that of the baseline on each of the last 14 days. A day without a density breaks the
 * row.
 *
 * @param dailyDensities in the order of time
 * @param baselineDensity of the baseline itself, cross-fitted: near 1, and above it when few questions are repeated
 */
export function outgrewBaseline(dailyDensities: readonly (number | null)[], baselineDensity: number): boolean {
  const last = dailyDensities.slice(-GROWTH_DAYS);
  const enough = GROWTH * Math.max(1, baselineDensity);
  return last.length === GROWTH_DAYS && last.every((density) => density !== null && density > enough);
}

// What is known of index and embedder, as the fingerprint that decides when a baseline ends.

type Traits = Readonly<Record<string, string>>;

interface MeasuredParts {
  /** Null while nobody looked at it. */
  readonly index: Traits | null;
  readonly embedder: Traits | null;
}

/** Traits of the content, not of how it is measured: content comes and goes. */
const OF_CONTENT: ReadonlySet<string> = new Set(['size_class']);
/** Traits of the index that have a field of their own. */
const NAMED: ReadonlySet<string> = new Set(['metric', 'dimensions']);

/** The fingerprint of what is measured now; what is not known is empty. */
export function measurementFingerprint({ index, embedder }: MeasuredParts): MeasurementFingerprint {
  const rest = Object.entries(index ?? {})
    .filter(([trait]) => !OF_CONTENT.has(trait) && !NAMED.has(trait))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    embeddingModel: embedder?.['identity'] ?? '',
    embeddingRevision: embedder?.['canary'] ?? '',
    dimension: index?.['dimensions'] ?? embedder?.['dimensions'] ?? '',
    normalisation: '',
    queryPrefix: '',
    documentPrefix: '',
    metric: index?.['metric'] ?? '',
    chunkerVersion: '',
    indexType: index === null ? '' : JSON.stringify(rest),
    searchParameters: '',
    k: '1',
    filterClass: '',
    scoreField: 'top-1-less-mean',
  };
}

/** The fields that changed from one known value to another. A value that becomes known is no change. */
export function knownDifferences(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): readonly FingerprintField[] {
  return fingerprintDifferences(before, after).filter((field) => before[field] !== '' && after[field] !== '');
}

/** `after`, with what it does not know taken from `before`. */
export function completedFingerprint(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): MeasurementFingerprint {
  const known = Object.fromEntries(Object.entries(after).filter(([, value]) => value !== ''));
  return { ...before, ...known };
}
