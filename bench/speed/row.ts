/** What a benchmark says: figures with their spread, and the bars that they are held to. */

import type { SelfTime } from '../profiles/self-time.ts';

/** A quantity that was measured in several rounds. */
export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly rounds: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** A limit that holds on any machine of the day: mostly the ratio of two figures of the same run. */
export interface Bar {
  readonly what: string;
  readonly value: number;
  readonly side: 'at least' | 'at most';
  readonly limit: number;
  readonly unit: string;
}

export interface RowResult {
  readonly row: string;
  /** Of `bench/speed`, by which the row can be measured alone: `npm run bench -- NAME`. */
  readonly name: string;
  readonly figures: readonly Figure[];
  readonly bars: readonly Bar[];
  /** What was left out, and why. */
  readonly notes: readonly string[];
  /** What limits the row. */
  readonly profile?: readonly SelfTime[];
}

/** @param quick a hundredth of the work, to see that it runs */
export type MeasureRow = (quick: boolean) => Promise<RowResult> | RowResult;

export function figure(what: string, unit: string, rounds: readonly number[]): Figure {
  const sorted = rounds.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
  return { what, unit, rounds: sorted.length, median, low: sorted[0] ?? 0, high: sorted.at(-1) ?? 0 };
}

export function isMet({ value, side, limit }: Bar): boolean {
  return side === 'at least' ? value >= limit : value <= limit;
}

/** Runs each contender once a round, so that what disturbs the machine disturbs them alike. */
export async function alternate<Name extends string>(
  rounds: number,
  contenders: Readonly<Record<Name, () => Promise<number> | number>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(contenders) as Name[];
  const results = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      results[name].push(await contenders[name]());
    }
  }
  return results;
}

/** Milliseconds that the work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The value below which the share of values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
