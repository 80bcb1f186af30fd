/** A golden score as it would be with the mix of live traffic. */
import { studentTQuantile } from '../../stats/distributions.ts';

export interface ReweightedScore {
  readonly mean: number;
  /** 95 %, by the t distribution with the effective sample size less one as degrees of freedom. */
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Queries with a weight above 0. */
  readonly n: number;
  /** Kish's effective sample size, (sum w)^2 / sum w^2: so many equally weighted queries tell as much. */
  readonly effectiveSampleSize: number;
}

/**
 * The weighted mean sum w x / sum w, its standard error sqrt(sum w^2 (x - mean)^2) / sum w times sqrt(m / (m - 1)) for
 * the effective size m (Kish, Survey Sampling, 1965; Cochran 1977). The weights count as known. Null when no query has
 * a weight, and with bounds of the whole range for a single one.
 *
 * @param scores in [0, 1], one for each query
 * @param weights >= 0, one for each query
 */
export function reweightedScore(
  scores: ArrayLike<number>,
  weights: ArrayLike<number>,
): ReweightedScore | null {
  let [total, squares, sum, n] = [0, 0, 0, 0];
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i] ?? 0;
    total += weight;
    squares += weight * weight;
    sum += weight * (scores[i] ?? 0);
    if (weight > 0) n += 1;
  }
  if (total === 0) return null;
  const mean = Math.min(1, Math.max(0, sum / total));
  const effectiveSampleSize = (total * total) / squares;
  let spread = 0;
  for (let i = 0; i < weights.length; i++) spread += ((weights[i] ?? 0) * ((scores[i] ?? 0) - mean)) ** 2;
  const freedom = effectiveSampleSize - 1;
  if (freedom < 1e-9) return { mean, ciLow: 0, ciHigh: 1, n, effectiveSampleSize };
  const error = (Math.sqrt(spread) / total) * Math.sqrt(effectiveSampleSize / freedom);
  const reach = error === 0 ? 0 : studentTQuantile(0.975, freedom) * error;
  return {
    mean,
    ciLow: Math.max(0, mean - reach),
    ciHigh: Math.min(1, mean + reach),
    n,
    effectiveSampleSize,
  };
}
