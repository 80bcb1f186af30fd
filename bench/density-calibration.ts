/**
 * Measures how often alerts on query density fire in quiet months, which changes they detect, and how soon.
 *
 *     npx tsx bench/density-calibration.ts [--quick] [--scale N] [--out FILE] [--resume]
 *
 * `--scale 4` simulates four times as many streams. FILE is written after each scenario and volume; `--resume`
 * continues from the results in FILE.
 */
import { pathToFileURL } from 'node:url';
import { articleWorld } from './density/article-world.ts';
import { type ChangeCell, changeCell, type QuietCell, quietCell } from './density/cells.ts';
import { BASELINE_HOURS, budget } from './density/monitor.ts';
import {
  type ChangeResult,
  type MeasuredWorld,
  measureWorld,
  type QuietResult,
  type Scenario,
  startPipeline,
  watchChange,
  watchQuiet,
} from './density/streams.ts';
import { type SyntheticSize, syntheticWorld } from './density/synthetic-world.ts';
import { commandOf, type Provenance, provenance, readArguments, readResult, writeResult } from './result-file.ts';

export interface DensityResult {
  readonly provenance: Provenance;
  /**
   * Name of the score that was computed for live queries. Older result files lack this name; their score is the mean
   * cosine to the five nearest chunks.
   */
  readonly score?: string;
  readonly baselineDays: number;
  readonly budget: typeof budget;
  readonly worlds: number;
  readonly quiet: readonly QuietCell[];
  readonly changed: readonly ChangeCell[];
}

interface Plan {
  readonly size: SyntheticSize;
  readonly worlds: number;
  readonly quietDays: number;
  readonly changeDays: number;
  readonly shares: readonly number[];
  readonly cells: readonly {
    readonly world: 'synthetic' | 'articles';
    readonly volume: number;
    readonly streams: number;
  }[];
}

const SEED = 20_261_121;

const fullPlan: Plan = {
  size: { groups: 10, topicsPerGroup: 6, chunksPerTopic: 24, questionsPerTopic: 300 },
  worlds: 4,
  quietDays: 90,
  changeDays: 14,
  shares: [0.02, 0.05, 0.1, 0.2],
  cells: [
    { world: 'synthetic', volume: 30, streams: 32 },
    { world: 'articles', volume: 30, streams: 16 },
    { world: 'synthetic', volume: 300, streams: 6 },
    { world: 'articles', volume: 300, streams: 3 },
  ],
};

const quickPlan: Plan = {
  size: { groups: 2, topicsPerGroup: 4, chunksPerTopic: 10, questionsPerTopic: 40 },
  worlds: 1,
  quietDays: 2,
  changeDays: 2,
  shares: [0.2],
  cells: [{ world: 'synthetic', volume: 60, streams: 1 }],
};

export async function measureDensity(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
  keep: (result: DensityResult) => void = () => {},
  before: DensityResult | null = null,
): Promise<DensityResult> {
  const startedAt = performance.now() - 1000 * (before?.provenance.seconds ?? 0);
  const plan = quick ? quickPlan : fullPlan;
  const quiet: QuietCell[] = [...(before?.quiet ?? [])];
  const changed: ChangeCell[] = [...(before?.changed ?? [])];
  const resultSoFar = (): DensityResult => ({
    provenance: provenance(commandOf('density-calibration', scale), SEED, startedAt),
    score: 'top-1-less-mean',
    baselineDays: BASELINE_HOURS / 24,
    budget,
    worlds: plan.worlds,
    quiet,
    changed,
  });
  for (const [number, cell] of plan.cells.entries()) {
    if (number < (before?.quiet.length ?? 0)) continue;
    const worlds = await worldsOf(plan.size, cell.world, Math.min(plan.worlds, cell.streams));
    const scenarios = scenariosFor(worlds, plan.shares);
    const quietResults: QuietResult[] = [];
    const changeResults = scenarios.map((): ChangeResult[] => []);
    for (let stream = 0; stream < cell.streams * scale; stream++) {
      const measured = worlds[stream % worlds.length];
      if (measured === undefined) throw new RangeError('There is no world to simulate.');
      const pipeline = startPipeline(measured, cell.volume, SEED + 1_000 * number + stream);
      quietResults.push(watchQuiet(pipeline, plan.quietDays));
      for (const [i, scenario] of scenarios.entries()) {
        changeResults[i]?.push(watchChange(pipeline, scenario, i, plan.changeDays));
      }
      say(
        `${cell.world}, ${cell.volume}/h, stream ${stream + 1}: ${Math.round((performance.now() - startedAt) / 1000)} s`,
      );
    }
    const place = { world: cell.world, queriesPerHour: cell.volume };
    quiet.push(quietCell({ ...place, days: plan.quietDays }, quietResults));
    for (const [i, scenario] of scenarios.entries()) {
      changed.push(changeCell({ ...place, days: plan.changeDays }, scenario, changeResults[i] ?? []));
    }
    keep(resultSoFar());
  }
  return resultSoFar();
}

async function worldsOf(size: SyntheticSize, kind: 'synthetic' | 'articles', count: number): Promise<MeasuredWorld[]> {
  const worlds: MeasuredWorld[] = [];
  for (let world = 0; world < count; world++) {
    const seed = SEED + world;
    worlds.push(measureWorld(kind === 'synthetic' ? syntheticWorld(seed, size) : await articleWorld(seed)));
  }
  return worlds;
}

function scenariosFor(worlds: readonly MeasuredWorld[], shares: readonly number[]): Scenario[] {
  const kinds = new Set(worlds.flatMap(({ world }) => world.uncovered.map(({ kind }) => kind)));
  return [
    ...[...kinds].flatMap((topic) => shares.map((share): Scenario => ({ kind: 'uncovered', topic, share }))),
    { kind: 'deleted', share: 0.05 },
    { kind: 'deleted', share: 0.1 },
    { kind: 'other model' },
    { kind: 'topic mix', spread: 0.5 },
    { kind: 'topic mix', spread: 1 },
  ];
}

function say(line: string): boolean {
  return process.stderr.write(`${line}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale, resume } = readArguments(process.argv.slice(2), 'density-calibration');
  // Writes the results after each scenario and volume, so that `--resume` can continue: the last combinations take
  // minutes.
  const keep = (part: DensityResult): void => {
    if (out !== null) writeResult(out, part);
  };
  const before = resume && out !== null ? (readResult(out) as DensityResult | null) : null;
  const result = await measureDensity(quick, scale, say, keep, before);
  if (out === null) process.stdout.write(`${JSON.stringify(result)}\n`);
}
