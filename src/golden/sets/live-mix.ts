import { embedTexts } from '../../connectors/embedders/embedder.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { DAY_MS } from '../../core/time.ts';
import { gapNow, type ProbedPipeline, valueNow } from '../../index/probes/probes.ts';
import type { DrawnSample, LiveSamples } from '../../live/sql/live-samples.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import { matrixOf } from '../../math/vector/matrix.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { type GoldenSetVersion, goldenSegment, judgedQueries } from '../rules/golden-set.ts';
import { judgedDocuments } from '../rules/labels.ts';
import { measureRepresentativeness, reweightedScore } from '../rules/representativeness.ts';
import { scoreQueries } from '../rules/score-run.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { recordJudgedDocuments } from './record-judged-documents.ts';

export type RepresentativenessOutcome = Awaited<ReturnType<typeof measureLiveMix>>;
type LiveMix = Extract<RepresentativenessOutcome, { readonly kind: 'measured' }>;

/** Maximum number of live queries, sampled at random. */
const LIVE_QUERIES = 2000;
/** Maximum number of golden queries. Embedding more queries would cost more than the measure is worth. */
const GOLDEN_QUERIES = 2000;

/** Rejects only if `signal` aborts (with its reason) or if the database fails. */
export async function measureLiveMix(
  samples: LiveSamples,
  { name, embedder }: ProbedPipeline,
  queries: readonly GoldenQuery[],
  since: Date,
  signal: AbortSignal,
) {
  if (embedder === null) return unknown('no_embedder', 'The config has no embedder for golden queries.');
  if (queries.length > GOLDEN_QUERIES) {
    return unknown(
      'no_vectors',
      `The set has more than ${GOLDEN_QUERIES} queries, which is too many to embed for this measure.`,
    );
  }
  const drawn = await samples.draw({ pipeline: name, since, limit: LIVE_QUERIES });
  const golden = await embedTexts(
    embedder,
    queries.map(({ text }) => text),
    signal,
  );
  if (golden.kind === 'unknown') return unknown('embedder_failed', golden.reason);
  const dimensions = golden.vectors[0]?.length ?? 0;
  const live = await withVectors(drawn, embedder, dimensions, signal);
  if (live.length === 0) {
    return unknown('no_vectors', 'No live query has a vector from the embedder or a text to embed.');
  }
  const result = measureRepresentativeness({
    live: live.map(({ sample }) => ({ probability: sample.probability, cluster: sample.sessionHash })),
    liveVectors: matrixOf(live.map(({ vector }) => vector)),
    goldenVectors: matrixOf(golden.vectors),
  });
  return {
    kind: 'measured' as const,
    ...result,
    /** The sampled live queries; topics refer to them by index. */
    live: live.map(({ sample }) => sample),
  };
}

/**
 * Uses the vector that was sent with a live query if it has as many dimensions as the vectors of the embedder;
 * otherwise, embeds the text of the query.
 */
async function withVectors(
  drawn: readonly DrawnSample[],
  embedder: ProbedPipeline['embedder'],
  dimensions: number,
  signal: AbortSignal,
) {
  const sent = drawn.flatMap((sample) =>
    sample.embedding?.length === dimensions ? [{ sample, vector: sample.embedding }] : [],
  );
  const rest = drawn.filter(({ embedding, text }) => embedding?.length !== dimensions && text !== null);
  const made = await embedTexts(
    embedder,
    rest.map(({ text }) => text ?? ''),
    signal,
  );
  if (made.kind === 'unknown') return sent;
  return [
    ...sent,
    ...rest.flatMap((sample, index) => {
      const vector = made.vectors[index];
      return vector === undefined ? [] : [{ sample, vector }];
    }),
  ];
}

function unknown(reason: 'no_embedder' | 'no_vectors' | 'embedder_failed', message: string) {
  return { kind: 'unknown' as const, reason, message };
}

export const REPRESENTATIVENESS = 'golden_representativeness';
/** Prefix of the names of reweighted measures; the name of the golden measure follows it. */
export const LIVE_MIX_PREFIX = 'golden_live_mix_';
const WEEK_MS = 7 * DAY_MS;
/** Measures whose scores, at the largest cutoff of the run, are reweighted to match the mix of live traffic. */
const reweighted: ReadonlySet<string> = new Set(['hit_rate', 'mrr', 'ndcg', 'recall']);

/**
 * Stores the texts of judged documents for every golden set of the pipeline, and reads each text again once a day; see
 * `recordJudgedDocuments`.
 *
 * @throws RecalldError store_unreachable if the store failed, because no measurement would show this failure;
 *   database_unreachable
 */
export async function recordGoldenDocuments(
  context: Context,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
): Promise<void> {
  const readBefore = new Date(context.clock.now().getTime() - DAY_MS);
  for (const { set } of pipeline.golden) {
    const latest = await context.db.golden.sets.latest(set);
    if (latest === null) continue;
    const judged = judgedDocuments(await context.db.golden.sets.queries(set, latest.version));
    const { problem } = await recordJudgedDocuments(context, pipeline, judged, signal, readBefore);
    if (problem === null) continue;
    throw new RecalldError('store_unreachable', `The judged documents of ${set} could not be read: ${problem}`);
  }
}

/**
 * Records two kinds of measures for each golden set of the pipeline, based on the live queries from the last week:
 * - `golden_representativeness`: the weighted share of live queries that have a similar golden query;
 * - `golden_live_mix_<measure>`: the score of the latest completed run, with queries weighted so that each topic has
 *   its share of live traffic. `n` is Kish's effective sample size, rounded down. In the details, `represented` is the
 *   share of live traffic whose topic has a golden query. The segment is `golden_set=<name>`.
 */
export async function measureGoldenRepresentativeness(
  context: Context,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
): Promise<void> {
  const now = context.clock.now();
  const since = new Date(now.getTime() - WEEK_MS);
  for (const { set } of pipeline.golden) {
    const latest = await context.db.golden.sets.latest(set);
    if (latest === null) continue;
    const queries = judgedQueries(await context.db.golden.sets.queries(set, latest.version));
    const mix = await measureLiveMix(context.db.live.samples, pipeline, queries, since, signal);
    const segment = goldenSegment(set);
    const outcomes =
      mix.kind === 'unknown'
        ? [gapNow(pipeline.name, REPRESENTATIVENESS, now, mix.reason, { message: mix.message })]
        : [coverage(pipeline.name, mix, now), ...(await scores(context, pipeline.name, latest, mix, queries, now))];
    await context.db.measurements.record(outcomes.map((outcome) => ({ ...outcome, segment })));
  }
}

function coverage(pipeline: string, mix: LiveMix, now: Date): MeasurementOutcome {
  if (mix.covered === null) return gapNow(pipeline, REPRESENTATIVENESS, now, 'no_vectors');
  const { effectiveSessions, ...covered } = mix.covered;
  const details = {
    effective_sessions: effectiveSessions,
    represented: mix.represented,
    topics: mix.topics.map(({ share, covered, golden }) => ({ share, covered, golden })),
  };
  return valueNow(pipeline, REPRESENTATIVENESS, now, { ...covered, ciMethod: 'wilson', details });
}

async function scores(
  { db }: Context,
  pipeline: string,
  set: GoldenSetVersion,
  mix: LiveMix,
  queries: Parameters<typeof scoreQueries>[0],
  now: Date,
): Promise<MeasurementOutcome[]> {
  const [run] = await db.golden.runs.list({ pipeline, goldenSet: set.name, status: 'completed', limit: 1 });
  if (run === undefined || run.queriesTotal !== set.queries) return [];
  const { keys, columns } = scoreQueries(queries, await db.golden.runs.answers(run.id), run.settings);
  const k = Math.max(...run.settings.cutoffs);
  return keys.flatMap((key, index) => {
    if (key.k !== k || !reweighted.has(key.measure)) return [];
    const score = reweightedScore(columns[index] ?? [], mix.goldenWeights);
    if (score === null) return [];
    const { mean, ciLow, ciHigh, effectiveSampleSize } = score;
    const details = {
      metric: formatMetricKey(key),
      effective_sample_size: effectiveSampleSize,
      represented: mix.represented,
    };
    const n = Math.floor(effectiveSampleSize);
    const bounds = { ciLow, ciHigh, ciMethod: 't' };
    return [valueNow(pipeline, `${LIVE_MIX_PREFIX}${key.measure}`, now, { value: mean, n, ...bounds, details })];
  });
}
