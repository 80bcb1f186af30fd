/**
 * Measures false regressions with noisy retrievers, and the delay until a true drop is detected.
 *
 *     npx tsx bench/golden-false-regressions.ts [--quick] [--scale N] [--out FILE] [--resume]
 *
 * `--scale 4` simulates four times as many streams. The file is written after each cell (a noise level, a number of
 * queries and a number of reruns); `--resume` keeps the cells that the file already contains.
 */
import { pathToFileURL } from 'node:url';
import {
  type DropCell,
  isStill,
  type NullCell,
  noiseLevels,
  RUNS_PER_DAY,
  simulateDrop,
  simulateNull,
} from './golden/false-regressions.ts';
import type { NoiseLevel } from './golden/noisy-retriever.ts';
import { defaultCheck, RERUNS } from './golden/watched-stream.ts';
import { commandOf, type Provenance, provenance, readArguments, readResult, writeResult } from './result-file.ts';

export interface GoldenResult {
  readonly provenance: Provenance;
  readonly days: number;
  readonly runsPerDay: number;
  readonly reruns: number;
  readonly check: typeof defaultCheck;
  readonly noiseLevels: readonly NoiseLevel[];
  readonly unchanged: readonly NullCell[];
  readonly dropped: readonly DropCell[];
}

const SEED = 20_261_120;

interface Plan {
  readonly days: number;
  /**
   * `queries`: number of queries in the golden set. `reruns`: number of runs for pinning a baseline. `share`: share of
   * the streams that is simulated; if absent, all streams are simulated.
   */
  readonly cells: readonly { readonly queries: number; readonly reruns: number; readonly share?: number }[];
  readonly streams: number;
  readonly dropStreams: number;
  readonly longestDelay: number;
}

const fullPlan: Plan = {
  days: 90,
  cells: [
    { queries: 100, reruns: RERUNS },
    { queries: 300, reruns: RERUNS },
    { queries: 300, reruns: 5 },
    { queries: 1000, reruns: RERUNS, share: 0.5 },
  ],
  streams: 60,
  dropStreams: 40,
  longestDelay: 168,
};
const quickPlan: Plan = {
  days: 2,
  cells: [{ queries: 50, reruns: RERUNS }],
  streams: 3,
  dropStreams: 3,
  longestDelay: 6,
};
/** Simulated changes: the size of the drop, and the share of queries whose results also change randomly. */
const changes = [
  { drop: 0.05, churn: 0 },
  { drop: 0.05, churn: 0.1 },
  { drop: 0.03, churn: 0 },
] as const;

/** @param before earlier result whose cells are kept */
export function measureGolden(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
  keep: (result: GoldenResult) => void = () => {},
  before: GoldenResult | null = null,
): GoldenResult {
  const startedAt = performance.now() - 1000 * (before?.provenance.seconds ?? 0);
  const { days, cells, longestDelay: longest, ...plan } = quick ? quickPlan : fullPlan;
  const unchanged: NullCell[] = [];
  const dropped: DropCell[] = [];
  const resultSoFar = (): GoldenResult => ({
    provenance: provenance(commandOf('golden-false-regressions', scale), SEED, startedAt),
    days,
    runsPerDay: RUNS_PER_DAY,
    reruns: RERUNS,
    check: defaultCheck,
    noiseLevels,
    unchanged,
    dropped,
  });
  for (const noise of noiseLevels) {
    for (const { queries, reruns, share = 1 } of cells) {
      // With nightly rebuilds, noise is estimated from earlier rebuilds, so only one number of reruns is simulated.
      if (noise.rebuild !== null && reruns !== RERUNS) continue;
      const isSame = (cell: NullCell | DropCell): boolean =>
        cell.noise === noise.name && cell.queries === queries && cell.reruns === reruns;
      const known = { unchanged: before?.unchanged.filter(isSame), dropped: before?.dropped.filter(isSame) };
      if (known.unchanged?.length && known.dropped?.length === changes.length) {
        unchanged.push(...known.unchanged);
        dropped.push(...known.dropped);
        continue;
      }
      // Without noise, all streams are equal and have no false regressions, so fewer streams are simulated.
      const streams = isStill(noise) ? Math.ceil(plan.streams / 10) : plan.streams * scale * share;
      const runs = days * RUNS_PER_DAY;
      unchanged.push(...simulateNull(noise, queries, { streams, runs, reruns, seed: SEED }));
      for (const change of changes) {
        const dropPlan = {
          streams: plan.dropStreams * scale * share,
          reruns,
          longest: noise.rebuild === null ? longest : Math.min(longest, 48),
          seed: SEED,
        };
        dropped.push(simulateDrop(noise, queries, change, dropPlan));
      }
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      say(`${noise.name}, ${queries} queries, ${reruns} reruns: ${seconds} s`);
      keep(resultSoFar());
    }
  }
  return resultSoFar();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale, resume } = readArguments(process.argv.slice(2), 'golden-false-regressions');
  // The file is written after each cell, because the last cells take minutes.
  const keep = (part: GoldenResult): void => {
    if (out !== null) writeResult(out, part);
  };
  const before = resume && out !== null ? (readResult(out) as GoldenResult | null) : null;
  const result = measureGolden(quick, scale, say, keep, before);
  if (out === null) process.stdout.write(`${JSON.stringify(result)}\n`);
}

function say(line: string): boolean {
  return process.stderr.write(`${line}\n`);
}
