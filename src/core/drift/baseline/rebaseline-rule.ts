/** When a baseline stops being one: another embedding model, another index, or a store that grew. */
import type { CanaryVerdict } from '../cause/canary.ts';

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
  return (Object.keys(before) as FingerprintField[])
    .filter((field) => before[field] !== after[field])
    .toSorted();
}

/** The retained baseline queries searched again through what is new. */
export interface Replay {
  /** Mean over the queries of the score after less before. */
  readonly meanScoreChange: number;
  /** Mean share of the k best chunks that stayed. */
  readonly meanOverlap: number;
}

const LARGEST_REPLAY_CHANGE = 0.01;
const LEAST_REPLAY_OVERLAP = 0.9;

/** Whether a replay shows that an index change left the scores as they were: |change| < 0.01 and overlap > 0.9. */
export function replayAgrees({ meanScoreChange, meanOverlap }: Replay): boolean {
  return Math.abs(meanScoreChange) < LARGEST_REPLAY_CHANGE && meanOverlap > LEAST_REPLAY_OVERLAP;
}

/**
 * `keep`: go on. `replay`: freeze the detectors until the baseline queries were searched again. `rebaseline`: freeze
 * them until there is a new baseline. Freezing is one annotated change, never drift.
 */
export interface RebaselineDecision {
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
export function outgrewBaseline(
  dailyDensities: readonly (number | null)[],
  baselineDensity: number,
): boolean {
  const last = dailyDensities.slice(-GROWTH_DAYS);
  const enough = GROWTH * Math.max(1, baselineDensity);
  return last.length === GROWTH_DAYS && last.every((density) => density !== null && density > enough);
}
