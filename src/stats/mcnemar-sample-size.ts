import { binomialUpperTail } from './binomial.ts';
import { normalQuantile } from './normal.ts';
import type { TestPlan } from './paired-power.ts';

/** How often a change of the retriever turns hits into misses and back, as shares of all queries. */
export interface HitChanges {
  readonly lostRate: number;
  /** Below `lostRate`. */
  readonly gainedRate: number;
}

/**
 * Least number of queries with which the exact McNemar test finds a drop of the hit rate with the planned power. Exact:
 * over the number of queries that change (binomial), and over how many of them are losses (binomial).
 */
export function mcnemarSampleSize(changes: HitChanges, plan: TestPlan): number {
  let tooFew = 0;
  let enough = mcnemarSampleSizeApproximation(changes, plan);
  const power = powerFunction(changes, plan);
  while (power(enough) < plan.power) [tooFew, enough] = [enough, Math.ceil(1.2 * enough)];
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (power(middle) < plan.power) tooFew = middle;
    else enough = middle;
  }
  return enough;
}

/**
 * The normal approximation of the same, Connor 1987:
 * n = (z_alpha sqrt(pd) + z_power sqrt(pd - drop^2))^2 / drop^2, where pd is the share of queries that change.
 */
export function mcnemarSampleSizeApproximation(
  { lostRate, gainedRate }: HitChanges,
  { alpha, sided, power }: TestPlan,
): number {
  const drop = lostRate - gainedRate;
  const changed = lostRate + gainedRate;
  const reach =
    normalQuantile(1 - alpha / sided) * Math.sqrt(changed) +
    normalQuantile(power) * Math.sqrt(changed - drop * drop);
  return Math.ceil((reach / drop) ** 2);
}

function powerFunction({ lostRate, gainedRate }: HitChanges, { alpha, sided }: TestPlan) {
  const changedRate = lostRate + gainedRate;
  const lossShare = lostRate / changedRate;
  const powers: number[] = [];
  let critical = 0;
  /** Power when so many queries change; they are asked for in rising order first. */
  const powerGiven = (changed: number): number => {
    for (let m = powers.length; m <= changed; m++) {
      while (sided * binomialUpperTail(critical, m, 0.5) > alpha) critical++;
      const gainsFound = sided === 1 ? 0 : binomialUpperTail(critical, m, 1 - lossShare);
      powers.push(binomialUpperTail(critical, m, lossShare) + gainsFound);
    }
    return powers[changed] ?? 0;
  };
  return (n: number): number => {
    let power = 0;
    let beyond = binomialUpperTail(0, n, changedRate);
    for (let changed = 0; changed <= n && beyond > 1e-12; changed++) {
      const next = binomialUpperTail(changed + 1, n, changedRate);
      power += (beyond - next) * powerGiven(changed);
      beyond = next;
    }
    return power;
  };
}
