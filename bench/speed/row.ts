/** Results of a benchmark: figures with their spread, and goals for them. */

import type { SelfTime } from '../profiles/self-time.ts';

/** A quantity that is measured in several rounds. */
export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly rounds: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** A limit that any current machine can meet; usually a limit on the ratio of two figures from the same run. */
export interface Bar {
  readonly what: string;
  readonly value: number;
  readonly side: 'at least' | 'at most';
  readonly limit: number;
  readonly unit: string;
}

export interface RowResult {
  readonly row: string;
  /** Name of the file in `bench/speed`; `npm run bench -- NAME` measures only this row. */
  readonly name: string;
  readonly figures: readonly Figure[];
  readonly bars: readonly Bar[];
  /** Notes, such as what was skipped and why. */
  readonly notes: readonly string[];
  /** Functions with their self times in a CPU profile, which show what limits the result. */
  readonly profile?: readonly SelfTime[];
}

/** @param quick true to do only a hundredth of the work, as a test of the benchmark */
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

/** Runs each contender once per round, so that other processes on the machine affect all contenders equally. */
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

/** Runs the work and returns its duration in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Returns the quantile of the values at `share`, from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
