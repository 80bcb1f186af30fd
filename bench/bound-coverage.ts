/**
 * How often the 95 % bounds of what is exported hold the truth.
 *
 *     npx tsx bench/bound-coverage.ts [--quick] [--scale N] [--out FILE]
 *
 * `--scale 4` takes four times as many draws.
 */
import { pathToFileURL } from 'node:url';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import type { Cell } from './coverage/cell.ts';
import { densityWorlds } from './coverage/density.ts';
import { liveWorlds } from './coverage/live.ts';
import { scoreWorlds } from './coverage/scores.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

export interface CoveredCell {
  readonly bound: string;
  readonly world: string;
  /** Draws that had bounds. */
  readonly draws: number;
  /** Share of them that held the truth. */
  readonly coverage: ShareWithBounds;
}

export interface CoverageResult {
  readonly provenance: Provenance;
  readonly cells: readonly CoveredCell[];
}

const SEED = 20_261_123;
const DRAWS = 1000;
/** A ratio to what is known only roughly would pass for a miss. */
const ROUNDING = 1e-9;

export function measureCoverage(quick: boolean, scale: number, say: (line: string) => void): CoverageResult {
  const startedAt = performance.now();
  const random = randomNumbers(SEED);
  const draws = quick ? 4 : DRAWS * scale;
  const cells = [...scoreWorlds, ...liveWorlds(random), ...densityWorlds].map((cell) => {
    const covered = coverageOf(cell, draws, random);
    say(`${cell.bound}, ${cell.world}: ${(100 * covered.coverage.share).toFixed(1)} %`);
    return covered;
  });
  return { provenance: provenance(commandOf('bound-coverage', scale), SEED, startedAt), cells };
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
  const { quick, out, scale } = readArguments(process.argv.slice(2), 'bound-coverage');
  const result = measureCoverage(quick, scale, console.log);
  if (out !== null) writeResult(out, result);
}
