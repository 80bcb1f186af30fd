/** How long something takes, where some of it has not come yet: the estimate of Kaplan and Meier, and its quantiles. */
import { normalQuantile } from './distributions.ts';

export interface Lifetime {
  /** Until it came, or until it was last looked for in vain; >= 0. */
  readonly time: number;
  readonly hasCome: boolean;
  /** How many it stands for; > 0. */
  readonly weight: number;
}

export interface SurvivalQuantile {
  /** Null where fewer than that share had come by the longest time that was watched. */
  readonly value: number | null;
  /** Null where not even the bound had come. */
  readonly low: number | null;
  readonly high: number | null;
}

/**
 * The time by which a share of all has come, by the product of Kaplan and Meier 1958. What has not come counts as
 * waiting for as long as it was watched, so that what never comes makes nothing look fast.
 *
 * The bounds are those of Brookmeyer and Crowley 1982 with the variance of Greenwood on the scale of log(-log S), as R's
 * `survfit` with `conf.type = "log-log"` gives them. Weights are as of a sample: the variance is that of the effective
 * number, (sum of w)^2 / sum of w^2 (Kish 1965). Where the last all come at one time, the upper bound before it is taken
 * times that of Clopper and Pearson for none of them left.
 *
 * @param share in (0, 1): 0.5 is the median
 * @returns all null without lifetimes
 */
export function survivalQuantile(lifetimes: readonly Lifetime[], share: number, confidence: number): SurvivalQuantile {
  const tail = (1 - confidence) / 2;
  const z = -normalQuantile(tail);
  const sorted = lifetimes.toSorted((a, b) => a.time - b.time || Number(b.hasCome) - Number(a.hasCome));
  const weights = sorted.reduce((sum, { weight }) => sum + weight, 0);
  const inflation = sorted.reduce((sum, { weight }) => sum + weight * weight, 0) / weights;
  const found: { value: number | null; low: number | null; high: number | null } = {
    value: null,
    low: null,
    high: null,
  };
  let [waiting, survival, greenwood, upper] = [weights, 1, 0, 1];
  for (let next = 0; next < sorted.length && found.high === null; ) {
    const time = sorted[next]?.time ?? 0;
    let [came, left] = [0, 0];
    for (; sorted[next]?.time === time; next += 1) {
      const { hasCome = false, weight = 0 } = sorted[next] ?? {};
      left += weight;
      if (hasCome) came += weight;
    }
    if (came > 0) {
      const rest = Math.max(0, waiting - came);
      survival = rest < 1e-9 * weights ? 0 : survival * (rest / waiting);
      greenwood += survival === 0 ? 0 : came / (waiting * rest);
      const reach = survival === 0 ? 0 : (z * Math.sqrt(greenwood * inflation)) / Math.abs(Math.log(survival));
      // Once all have come Greenwood has no spread left; that the last of them came together has an exact bound.
      upper = survival > 0 ? survival ** Math.exp(-reach) : upper * (1 - tail ** (inflation / waiting));
      if (survival === 0 || survival ** Math.exp(reach) <= 1 - share) found.low ??= time;
      if (survival <= 1 - share + 1e-12) found.value ??= time;
      if (upper <= 1 - share) found.high ??= time;
    }
    waiting -= left;
  }
  return found;
}
