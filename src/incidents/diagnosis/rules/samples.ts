/**
 * When and on how much each sign was measured, and what follows for its weight: what was measured before the onset
 * cannot speak for health, and a small sample without a finding says little.
 */
import { healthyStates, type Sign, type SignName } from './signs.ts';

export interface Sample {
  /** Start of the time that it covers. */
  readonly from: Date;
  /** Queries or documents that were drawn; null for what is no sample, such as a count. */
  readonly n: number | null;
}

export type Samples = Readonly<Partial<Record<SignName, Sample>>>;

export function isHealthy({ name, state }: Pick<Sign, 'name' | 'state'>): boolean {
  const states: readonly string[] = healthyStates[name];
  return states.includes(state);
}

/** Leaves out healthy signs that cover a time before the onset: what was well then may have been lost since. */
export function sinceOnset(signs: readonly Sign[], onset: Date | null): readonly Sign[] {
  if (onset === null) return signs;
  return signs.filter((sign) => sign.from === null || !isHealthy(sign) || Date.parse(sign.from) >= onset.getTime());
}

/** The smallest share of documents or queries that a fault is taken to affect. */
const SMALL_FAULT = 0.1;

/**
 * Weight that a healthy sample can carry at most, in nats: n draws that show nothing are ln(1 - 0.1) * n likely where a
 * tenth is affected. Infinity for other signs.
 */
export function mostNats(sign: Pick<Sign, 'name' | 'state' | 'n'>): number {
  return sign.n === null || !isHealthy(sign) ? Number.POSITIVE_INFINITY : -Math.log(1 - SMALL_FAULT) * sign.n;
}
