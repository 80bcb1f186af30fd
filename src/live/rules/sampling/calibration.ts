/** Weights of samples, held to what is known of all arrivals: how many queries there were of each outcome. */
import { type QueryOutcome, queryOutcomes } from '../../../model.ts';

/** Live queries of one outcome that were received in a window. */
export interface Arrivals {
  /** All of them: each was counted when it was received, sampled or not. */
  readonly counted: number;
  /** Their number as the samples have it: the sum of 1 / probability. */
  readonly estimated: number;
}

/** What a weight 1 / probability is multiplied by. */
export type Calibration = Readonly<Record<QueryOutcome, number>>;

/**
 * Calibration of weights by post-stratification on the outcome, the generalised regression estimator with one indicator
 * for each (Deville and Särndal, Calibration estimators in survey sampling, 1992): counted / estimated. Weighted numbers
 * of queries are then those that were counted. The share that failed has no sampling error left, and not the bias that a
 * ratio has in a small window: where failures are always kept and the rest is drawn, it is too large by about the
 * variance of the rest.
 *
 * An outcome that nobody counted, or of which nothing was sampled, keeps its weights.
 */
export function calibrationOf(arrivals: Readonly<Partial<Record<QueryOutcome, Arrivals>>>): Calibration {
  const factorOf = (outcome: QueryOutcome): number => {
    const { counted, estimated } = arrivals[outcome] ?? { counted: 0, estimated: 0 };
    return counted > 0 && estimated > 0 ? counted / estimated : 1;
  };
  return Object.fromEntries(queryOutcomes.map((outcome) => [outcome, factorOf(outcome)])) as Record<
    QueryOutcome,
    number
  >;
}
