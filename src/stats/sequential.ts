/** Evidence that may be looked at after each observation, as often as one likes, and still errs no more often. */
import { logBeta } from './distributions.ts';
import type { Interval } from './intervals.ts';

/**
 * Confidence sequence of a mean whose estimate is about normal: the chance that any of the intervals that are ever looked
 * at misses the truth is about alpha.
 *
 *     estimate -+ sqrt(2 V (V + t^2) / t^2  ln(sqrt((V + t^2) / V) / alpha))
 *
 * with V the variance of the estimate. It inverts the likelihood ratio of the truth to a normal mixture around it of
 * standard deviation t, a martingale (Robbins 1970; Johari, Koomen, Pekelis and Walsh, KDD 2017); with an estimated variance
 * it holds as samples grow (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Time-uniform central limit theory and asymptotic
 * confidence sequences, 2024).
 *
 * @param variance of the estimate, > 0
 * @param scale t, > 0, chosen before looking: about the effect that is to be found soonest
 * @param alpha in (0, 1)
 */
export function normalMixtureInterval(estimate: number, variance: number, scale: number, alpha: number): Interval {
  const both = variance + scale ** 2;
  const reach = Math.sqrt(((2 * variance * both) / scale ** 2) * Math.log(Math.sqrt(both / variance) / alpha));
  return { low: estimate - reach, high: estimate + reach };
}

/**
 * ln of the evidence that counts do not come in the given shares: their likelihood under shares drawn from a Dirichlet
 * distribution around these, over that under these. A martingale of mean 1 while they do, so that it ever exceeds 1 / alpha
 * with a chance of at most alpha (Ville; Lindon and Malek, Anytime-valid inference for multinomial count data, NeurIPS 2022).
 *
 * @param counts of each kind
 * @param shares of each, positive, with the sum 1
 * @param concentration of the distribution: a share p is drawn with variance p (1 - p) / (concentration + 1)
 */
export function logShareEvidence(counts: readonly number[], shares: readonly number[], concentration: number): number {
  let evidence = 0;
  let [left, prior] = [counts.reduce((sum, count) => sum + count, 0), concentration];
  for (const [kind, share] of shares.entries()) {
    const [count, own] = [counts[kind] ?? 0, concentration * share];
    evidence -= count * Math.log(share);
    [left, prior] = [left - count, prior - own];
    // What is left of a Dirichlet distribution is one of the other kinds.
    if (kind < shares.length - 1) evidence += logBeta(own + count, prior + left) - logBeta(own, prior);
  }
  return evidence;
}
