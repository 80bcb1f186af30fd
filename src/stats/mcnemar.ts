import { binomialUpperTail } from './binomial.ts';

export interface McNemar {
  /** Two-sided. */
  readonly p: number;
  /** Two-sided, the observed outcome counting half: less conservative. */
  readonly midP: number;
  /** One-sided, against losses that are not more likely than gains. */
  readonly pDrop: number;
}

/**
 * The exact test of McNemar 1947 for paired yes or no outcomes: among the queries that changed, losses and gains are
 * equally likely. It equals the sign-flip test on their differences. The mid-p form is that of Fagerland, Lydersen
 * and Laake 2013. A p smaller than any number above 0 comes as the least of them.
 *
 * @param lost queries that only the baseline hit
 * @param gained queries that only the candidate hit
 */
export function mcnemarExact(lost: number, gained: number): McNemar {
  const n = lost + gained;
  if (n === 0) return { p: 1, midP: 1, pDrop: 1 };
  const more = Math.max(lost, gained);
  const tail = binomialUpperTail(more, n, 0.5);
  const beyond = binomialUpperTail(more + 1, n, 0.5);
  return {
    p: Math.max(Number.MIN_VALUE, Math.min(1, 2 * tail)),
    midP: Math.min(1, tail + beyond),
    pDrop: binomialUpperTail(lost, n, 0.5),
  };
}
