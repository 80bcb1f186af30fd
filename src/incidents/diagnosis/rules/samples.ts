/**
 * Discards or limits evidence of health: a measurement from before the onset is no evidence of health after it, and a
 * small sample without a finding is only weak evidence.
 */
import { isHealthy, type Sign, type SignName } from './signs.ts';

export interface Sample {
  /** Start of the period that the sample covers. */
  readonly from: Date;
  /** Number of sampled queries or documents; null if the sign, such as a count, is not based on a sample. */
  readonly n: number | null;
}

export type Samples = Readonly<Partial<Record<SignName, Sample>>>;

/**
 * Removes healthy signs whose period starts before the onset, because the fault may have started later in that period.
 */
export function sinceOnset(signs: readonly Sign[], onset: Date | null): readonly Sign[] {
  if (onset === null) return signs;
  return signs.filter((sign) => sign.from === null || !isHealthy(sign) || Date.parse(sign.from) >= onset.getTime());
}

/** Minimum share of documents or queries that a fault is assumed to affect. */
const SMALL_FAULT = 0.1;

/**
 * Maximum weight of a healthy sample, in nats. If a tenth of all documents or queries were affected, the log-likelihood
 * of n samples without a finding would be ln(1 - 0.1) * n. There is no maximum for a sign that is not healthy or not
 * based on a sample.
 */
export function mostNats(sign: Sign): number {
  return sign.n === null || !isHealthy(sign) ? Number.POSITIVE_INFINITY : -Math.log(1 - SMALL_FAULT) * sign.n;
}
