/**
 * Measures how often the exported 95 % intervals contain the true value.
 *
 *     npx tsx bench/bound-coverage.ts [--quick] [--scale N] [--out FILE] [--resume]
 *
 * `--scale 4` simulates four times as many samples; `--resume` reuses the samples in the file.
 */
import { pathToFileURL } from 'node:url';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import type { Cell } from './coverage/cell.ts';
import { densityWorlds } from './coverage/density.ts';
import { liveWorlds } from './coverage/live.ts';
import { poolWorlds } from './coverage/pools.ts';
import { scoreWorlds } from './coverage/scores.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, readResult, writeResult } from './result-file.ts';

export interface CoveredCell {
  readonly bound: string;
  readonly world: string;
  /** Number of samples with an interval. */
  readonly draws: number;
  /** Share of these samples whose interval contained the true value. */
  readonly coverage: ShareWithBounds;
}

export interface CoverageResult {
  readonly provenance: Provenance;
  readonly cells: readonly CoveredCell[];
  /**
   * Kinds of intervals whose coverage was below `MIN_COVERAGE` in at least one scenario of the first simulations. All
   * scenarios of these kinds were simulated again, with `TIMES_REPEATED` times as many samples.
   */
  readonly repeated: readonly string[];
}

const SEED = 20_261_123;
const DRAWS = 1000;
/** Minimum share of samples whose interval contains the true value, required in every scenario. */
export const MIN_COVERAGE = 0.93;
/**
 * Factor by which a repetition increases the number of samples. With so many scenarios, the coverage in one scenario
 * may be below the minimum by chance. In that case, all scenarios with the same kind of interval are simulated again
 * with more samples.
 */
export const TIMES_REPEATED = 10;
/** Tolerance for rounding: without it, an interval could seem to miss a true value that equals one of its bounds. */
const ROUNDING = 1e-9;

/** @param before earlier result; the samples of its first simulations are reused */
export function measureCoverage(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
  before: CoverageResult | null = null,
): CoverageResult {
  const startedAt = performance.now() - 1000 * (before?.provenance.seconds ?? 0);
  const random = randomNumbers(SEED);
  const draws = quick ? 4 : DRAWS * scale;
  const measure = (cell: Cell, times: number, numbers: RandomNumbers): CoveredCell => {
    const covered = coverageOf(cell, times, numbers);
    say(`${cell.bound}, ${cell.world}: ${(100 * covered.coverage.share).toFixed(1)} % of ${covered.draws}`);
    return covered;
  };
  // Reuses either all earlier cells of a group or none, because the cells share one sequence of random numbers.
  const firstDraws = (group: readonly Cell[], numbers: RandomNumbers): readonly CoveredCell[] => {
    const known = group.flatMap(
      ({ bound, world }) => before?.cells.find((cell) => cell.bound === bound && cell.world === world) ?? [],
    );
    return known.length === group.length ? known : group.map((cell) => measure(cell, draws, numbers));
  };
  const measured = [...scoreWorlds, ...liveWorlds(random, quick ? 6000 : 60_000), ...densityWorlds];
  const worlds = [...measured, ...poolWorlds];
  const first = [...firstDraws(measured, random), ...firstDraws(poolWorlds, randomNumbers(SEED + 2))];
  const low = first.filter(({ coverage }) => !quick && coverage.share < MIN_COVERAGE).map(({ bound }) => bound);
  const repeated = [...new Set([...(before?.repeated ?? []), ...low])];
  const repeatedNumbers = randomNumbers(SEED + 1);
  const cells = worlds.map((cell, i) =>
    repeated.includes(cell.bound) ? measure(cell, TIMES_REPEATED * draws, repeatedNumbers) : (first[i] as CoveredCell),
  );
  return { provenance: provenance(commandOf('bound-coverage', scale), SEED, startedAt), cells, repeated };
}

function coverageOf({ bound, world, truth: fixed, draw }: Cell, draws: number, random: RandomNumbers): CoveredCell {
  let [bounded, held] = [0, 0];
  for (let i = 0; i < draws; i++) {
    const drawn = draw(random);
    const truth = drawn?.truth ?? fixed;
    if (drawn === null || truth === null) continue;
    bounded++;
    if (drawn.low <= truth + ROUNDING && truth <= drawn.high + ROUNDING) held++;
  }
  return { bound, world, draws: bounded, coverage: shareWithBounds(held, Math.max(1, bounded)) };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale, resume } = readArguments(process.argv.slice(2), 'bound-coverage');
  const before = resume && out !== null ? (readResult(out) as CoverageResult | null) : null;
  const result = measureCoverage(quick, scale, console.log, before);
  if (out !== null) writeResult(out, result);
}
