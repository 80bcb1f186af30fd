/**
 * Measures, on the vectors of a neural encoder, how well each score indicates the coverage of queries, and which
 * changes density monitoring detects at a hundred queries an hour. For what `recalld drift` detects in a single window,
 * see density-looks.ts.
 *
 *     npx tsx bench/density-dense.ts [--encoder minilm|minilm-papers] [--quick] [--scale N] [--out FILE]
 *
 * The articles that the store lacks differ from those that were used to choose the score. `--scale 4` simulates four
 * times as many samples and streams. `--encoder` selects recorded vectors of all-MiniLM-L6-v2: `minilm` for articles in
 * three languages, `minilm-papers` for research papers in English.
 */
import { pathToFileURL } from 'node:url';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import {
  articleWorld,
  type BenchEncoder,
  denseWorld,
  type EncodedArticles,
  encodedSettings,
  readEncoder,
} from './density/article-world.ts';
import { type ChangeCell, changeCell, type QuietCell, quietCell } from './density/cells.ts';
import { deletedCase, type ScoreCell, scoreCell, uncoveredCase } from './density/score-candidates.ts';
import {
  type ChangeResult,
  measureWorld,
  type QuietResult,
  type Scenario,
  startPipeline,
  watchChange,
  watchQuiet,
} from './density/streams.ts';
import { syntheticWorld } from './density/synthetic-world.ts';
import type { Unrest } from './density/traffic.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

export interface DenseResult {
  readonly provenance: Provenance;
  readonly scores: readonly ScoreCell[];
  readonly quiet: readonly DenseQuietCell[];
  readonly changed: readonly DenseChangeCell[];
}

export interface DenseQuietCell extends QuietCell {
  readonly unrest: string;
}

export interface DenseChangeCell extends ChangeCell {
  readonly pagedInTwoDays: ShareWithBounds;
  /** Share of streams in which an alert (page or ticket) fired within three days. */
  readonly alertedInThreeDays?: ShareWithBounds;
}

interface Plan {
  readonly articles: number;
  readonly leftOut: number;
  readonly scoredWorlds: number;
  /** Numbers of chunks in the synthetic stores. */
  readonly stores: readonly number[];
  readonly questionsPerTopic: number;
  readonly volume: number;
  readonly streams: number;
  readonly quietDays: number;
  readonly changeDays: number;
  readonly unrests: Readonly<Record<string, Unrest>>;
  readonly scenarios: readonly Scenario[];
}

const SEED = 20_261_123;
const TOPICS = 60;
const TWO_DAYS = 48;
const THREE_DAYS = 72;

const fullPlan: Plan = {
  articles: Number.POSITIVE_INFINITY,
  leftOut: 6,
  scoredWorlds: 8,
  stores: [1_000, 10_000, 100_000],
  questionsPerTopic: 40,
  volume: 100,
  streams: 4,
  quietDays: 90,
  changeDays: 14,
  unrests: {
    'weak variation and campaigns': { spread: 0.2, newsDays: 10 },
    'strong variation and campaigns': { spread: 0.6, newsDays: 10 },
  },
  scenarios: [
    { kind: 'uncovered', topic: 'article', share: 0.2 },
    { kind: 'uncovered', topic: 'article', share: 0.1 },
    { kind: 'deleted', share: 0.1 },
    { kind: 'new and held', share: 0.2 },
  ],
};

const quickPlan: Plan = {
  ...fullPlan,
  articles: 3,
  leftOut: 1,
  scoredWorlds: 1,
  stores: [600],
  questionsPerTopic: 10,
  volume: 60,
  streams: 1,
  quietDays: 1,
  changeDays: 1,
  unrests: { usual: { spread: 0.2, newsDays: 1 } },
  scenarios: [{ kind: 'uncovered', topic: 'article', share: 0.2 }],
};

/** Number of simulated changes per stream, each with a different topic. */
const CHANGES_PER_STREAM = 3;

export async function measureDense(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
  encoder: BenchEncoder | null = null,
  keep: (result: DenseResult) => void = () => {},
): Promise<DenseResult> {
  const startedAt = performance.now();
  const plan = quick ? quickPlan : fullPlan;
  const settings = await encodedSettings(encoder ?? 'use-lite', plan.articles);
  const sayElapsed = (what: string): void => say(`${what}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  const scores = await scoreCells(plan, encoder ?? 'use-lite', settings);
  sayElapsed('scores');
  const quiet: DenseQuietCell[] = [];
  const changed: DenseChangeCell[] = [];
  const soFar = (): DenseResult => ({
    provenance: provenance(commandOf('density-dense', scale, encoder), SEED, startedAt),
    scores,
    quiet,
    changed,
  });
  for (const { encoded, repeats } of settings) {
    watch(plan, encoded, repeats, scale, { quiet, changed }, sayElapsed);
    keep(soFar());
  }
  return soFar();
}

type Settings = Awaited<ReturnType<typeof encodedSettings>>;

async function scoreCells(plan: Plan, encoder: BenchEncoder, settings: Settings): Promise<ScoreCell[]> {
  const seeds = Array.from({ length: plan.scoredWorlds }, (_, i) => SEED + i);
  const dense = [...new Set(settings.map(({ encoded }) => encoded))].map((encoded) =>
    scoreCell(
      encoded.name,
      seeds.map((seed) => uncoveredCase(denseWorld(encoded, seed, true, plan.leftOut), 'article')),
    ),
  );
  if (encoder !== 'use-lite') return dense;
  const size = { groups: 10, topicsPerGroup: TOPICS / 10, questionsPerTopic: plan.questionsPerTopic };
  const synthetic = seeds.map((seed) => syntheticWorld(seed, { ...size, chunksPerTopic: 24 }));
  const lexical = await Promise.all(seeds.map((seed) => articleWorld(seed)));
  return [
    ...dense,
    scoreCell(
      'lexical articles',
      lexical.map((world) => uncoveredCase(world, 'article')),
    ),
    ...['near', 'far'].map((kind) =>
      scoreCell(
        `synthetic, ${kind} topic`,
        synthetic.map((world) => uncoveredCase(world, kind)),
      ),
    ),
    ...plan.stores.map((chunks) =>
      scoreCell('synthetic, deleted topics', [
        deletedCase(syntheticWorld(SEED, { ...size, chunksPerTopic: Math.round(chunks / TOPICS) }), SEED),
      ]),
    ),
  ];
}

function watch(
  plan: Plan,
  encoded: EncodedArticles,
  repeats: boolean,
  scale: number,
  into: { readonly quiet: DenseQuietCell[]; readonly changed: DenseChangeCell[] },
  sayElapsed: (what: string) => void,
): void {
  const unrests = Object.entries(plan.unrests);
  const quiet = unrests.map((): QuietResult[] => []);
  const changes = plan.scenarios.map((): ChangeResult[] => []);
  const world = denseWorld(encoded, SEED, repeats, plan.leftOut).name;
  for (let stream = 0; stream < plan.streams * scale; stream++) {
    const seed = SEED + 5_000 + stream;
    const measured = measureWorld(denseWorld(encoded, seed, repeats, plan.leftOut));
    for (const [i, [, unrest]] of unrests.entries()) {
      const pipeline = startPipeline(measured, plan.volume, seed, unrest);
      quiet[i]?.push(watchQuiet(pipeline, plan.quietDays));
      if (i > 0) continue;
      for (const [at, scenario] of plan.scenarios.entries()) {
        for (let time = 0; time < CHANGES_PER_STREAM; time++) {
          changes[at]?.push(watchChange(pipeline, scenario, CHANGES_PER_STREAM * at + time, plan.changeDays));
        }
      }
    }
    sayElapsed(`${world}, stream ${stream + 1}`);
  }
  const place = { world, queriesPerHour: plan.volume };
  for (const [i, [unrest]] of unrests.entries()) {
    into.quiet.push({ unrest, ...quietCell({ ...place, days: plan.quietDays }, quiet[i] ?? []) });
  }
  for (const [at, scenario] of plan.scenarios.entries()) {
    const results = changes[at] ?? [];
    const soon = results.filter(({ delays }) => delays.page !== null && delays.page.hours <= TWO_DAYS).length;
    const alerted = results.filter(({ delays: { page, ticket } }) =>
      [page, ticket].some((delay) => delay !== null && delay.hours <= THREE_DAYS),
    ).length;
    into.changed.push({
      ...changeCell({ ...place, days: plan.changeDays }, scenario, results),
      pagedInTwoDays: shareWithBounds(soon, results.length),
      alertedInThreeDays: shareWithBounds(alerted, results.length),
    });
  }
}

function say(line: string): boolean {
  return process.stderr.write(`${line}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale, encoder } = readArguments(process.argv.slice(2), 'density-dense');
  const result = await measureDense(quick, scale, say, readEncoder(encoder), (part) => {
    if (out !== null) writeResult(out, part);
  });
  if (out === null) process.stdout.write(`${JSON.stringify(result)}\n`);
}
