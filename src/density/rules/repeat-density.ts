/** Query density of baseline queries that are asked again: what the store lost, without the luck of who asks. */
import { mean, meanInterval } from '../../stats/descriptive.ts';
import { wilsonInterval } from '../../stats/intervals.ts';
import { type BaselineScores, MAX_SURPRISE, NO_REGION, surpriseOf, tiedRanks } from './query-score.ts';

/** The score of one query in the baseline, and now. */
export interface ScorePair {
  readonly before: number;
  readonly now: number;
}

export interface RepeatDensity {
  /** exp of minus the mean change of surprise: 1 as in the baseline, lower is worse covered. */
  readonly density: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  readonly ciMethod: 'bca' | 't' | 'wilson';
  readonly queries: number;
  /** Queries that find worse than then. */
  readonly fell: number;
}

const CONFIDENCE = 0.95;
/** Of fewer changes the spread of the values says too little. */
const FEW_CHANGES = 5;

/**
 * Each query is its own control: a store that answers as it did gives exactly 1, whoever asks, and a loss shows as soon
 * as a query that it touches is asked. Bounds are those of the mean change over all that the baseline queries were
 * drawn from. Where fewer than five queries changed, they are also as wide as Wilson's bounds on the share that changed
 * by the most that a surprise can, because values that are nearly all 0 would claim certainty.
 *
 * @param pairs of queries of different sessions, drawn at random from the baseline
 * @param scores the whole baseline is what both scores are ranked in
 * @throws RangeError without queries
 */
export function repeatDensity(pairs: readonly ScorePair[], scores: BaselineScores): RepeatDensity {
  const n = pairs.length;
  const surprise = (score: number): number => surpriseOf(tiedRanks(score, NO_REGION, scores));
  const changes = Float64Array.from(pairs, ({ before, now }) => surprise(now) - surprise(before));
  const change = mean(changes);
  const bounds = n === 1 ? { low: change, high: change, method: 't' as const } : meanInterval(changes, CONFIDENCE);
  const [fell, rose] = [changes.filter((value) => value > 0).length, changes.filter((value) => value < 0).length];
  const isFew = fell + rose < FEW_CHANGES;
  const most = (count: number): number => MAX_SURPRISE * wilsonInterval(count / n, n, CONFIDENCE).high;
  return {
    density: Math.exp(-change),
    ciLow: Math.exp(-(isFew ? Math.max(bounds.high, most(fell)) : bounds.high)),
    ciHigh: Math.exp(-(isFew ? Math.min(bounds.low, -most(rose)) : bounds.low)),
    ciMethod: isFew ? 'wilson' : bounds.method,
    queries: n,
    fell,
  };
}
