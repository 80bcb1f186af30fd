/**
 * False regressions of noisy retrievers, and the delay of a true drop.
 *
 *     npx tsx bench/golden-false-regressions.ts [--quick] [--scale N] [--out FILE]
 *
 * `--scale 4` takes four times as many streams.
 */
import { pathToFileURL } from 'node:url';
import { type DropCell, type NullCell, noiseLevels, simulateDrop, simulateNull } from './golden/false-regressions.ts';
import type { NoiseLevel } from './golden/noisy-retriever.ts';
import { defaultCheck, RERUNS } from './golden/watched-stream.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

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
const RUNS_PER_DAY = 24;

interface Plan {
  readonly days: number;
  /** Queries of the set, and runs by which a baseline is pinned. */
  readonly cells: readonly { readonly queries: number; readonly reruns: number }[];
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
    { queries: 1000, reruns: RERUNS },
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
const DROP = 0.05;
const CHURNS: readonly number[] = [0, 0.1];

export function measureGolden(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
  keep: (result: GoldenResult) => void = () => {},
): GoldenResult {
  const startedAt = performance.now();
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
    for (const { queries, reruns } of cells) {
      // Without noise every stream is the same: nothing happens.
      const isExact = noise.restless + noise.shared === 0;
      const streams = isExact ? Math.ceil(plan.streams / 10) : plan.streams * scale;
      const runs = days * RUNS_PER_DAY;
      unchanged.push(...simulateNull(noise, queries, { streams, runs, reruns, seed: SEED }));
      for (const churn of CHURNS) {
        const dropPlan = { streams: plan.dropStreams * scale, reruns, longest, seed: SEED };
        dropped.push(simulateDrop(noise, queries, { drop: DROP, churn }, dropPlan));
      }
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      say(`${noise.name}, ${queries} queries, ${reruns} reruns: ${seconds} s`);
      keep(resultSoFar());
    }
  }
  return resultSoFar();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale } = readArguments(process.argv.slice(2), 'golden-false-regressions');
  // Kept after each cell: the last ones take minutes.
  const result = measureGolden(quick, scale, say, (part) => {
    if (out !== null) writeResult(out, part);
  });
  if (out === null) process.stdout.write(`${JSON.stringify(result)}\n`);
}

function say(line: string): boolean {
  return process.stderr.write(`${line}\n`);
}
