/**
 * Computes a ratio over sessions, and the variance of this ratio, from sums that can be added over days. The sessions
 * themselves can therefore be deleted.
 */

import { effectiveNumberOf } from './effective-number.ts';

/** Contributions of a session to the numerator, `x`, and to the denominator, `y`, weighted by inverse probability. */
export interface SessionTerm {
  /** Identifies the session. */
  readonly cluster: number;
  readonly x: number;
  readonly y: number;
}

/** Sums over sessions: n, x, y, xx, xy, yy, xxxx, xxxy, xxyy, xyyy, yyyy. The sums of several days can be added. */
export type SessionSums = readonly number[];

const SUMS = 11;

export function sumSessions(terms: readonly SessionTerm[]): SessionSums {
  const sessions = new Map<number, [x: number, y: number]>();
  for (const { cluster, x, y } of terms) {
    const [before, below] = sessions.get(cluster) ?? [0, 0];
    sessions.set(cluster, [before + x, below + y]);
  }
  return addSums([...sessions.values()].map(([x, y]) => powersOf(x, y)));
}

function powersOf(x: number, y: number): SessionSums {
  const [xx, xy, yy] = [x * x, x * y, y * y];
  return [1, x, y, xx, xy, yy, xx * xx, xx * xy, xx * yy, xy * yy, yy * yy];
}

/** @returns zero sums if there are no sessions */
export function addSums(parts: readonly SessionSums[]): SessionSums {
  return Array.from({ length: SUMS }, (_, place) => parts.reduce((total, sums) => total + (sums[place] ?? 0), 0));
}

/** A sum of squares counts as a rounding error if it is below this share of the terms from which it is computed. */
const ROUNDING = 1e-9;

export type SummedRatio = NonNullable<ReturnType<typeof ratioOf>>;

/**
 * Returns the ratio with its linearized variance between sessions (like `sessionRatio`); null if there are no sessions.
 */
export function ratioOf(sums: SessionSums) {
  const [n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0, xxxx = 0, xxxy = 0, xxyy = 0, xyyy = 0, yyyy = 0] = sums;
  if (n === 0 || y <= 0) return null;
  const value = x / y;
  const squares = xx - 2 * value * xy + value ** 2 * yy;
  const fourths = xxxx - 4 * value * xxxy + 6 * value ** 2 * xxyy - 4 * value ** 3 * xyyy + value ** 4 * yyyy;
  if (n < 2 || squares <= ROUNDING * yy || fourths <= 0)
    return { value, variance: 0, degreesOfFreedom: 0, sessions: n };
  return {
    value,
    /** Variance of `value`; 0 for a single session, or if all sessions have the same ratio. */
    variance: ((n / (n - 1)) * squares) / y ** 2,
    /** Satterthwaite's degrees of freedom; a low number if only a few sessions determine the variance. */
    degreesOfFreedom: Math.min(n - 1, effectiveNumberOf(squares, fourths)),
    sessions: n,
  };
}
