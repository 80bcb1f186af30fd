/** Measures on a schedule how well golden sets stand for live traffic, and their scores with its mix. */

import { formatMetricKey } from '../../ir/metric-key.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { gapNow, type ProbeDeps, valueNow } from '../../probes/probes.ts';
import { reweightedScore } from '../rules/representativeness.ts';
import { scoreQueries } from '../rules/score-run.ts';
import { goldenSegment } from '../rules/segments.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { type LiveMix, liveMixOf } from './golden-representativeness.ts';
import { type RecordDocumentsDeps, recordJudgedDocuments } from './record-judged-documents.ts';

export interface GoldenUpkeepDeps
  extends RecordDocumentsDeps,
    Pick<ProbeDeps, 'measurements' | 'samples' | 'logger'> {
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
}

export const REPRESENTATIVENESS = 'golden_representativeness';
/** Of the names of reweighted measures; the golden measure follows. */
export const LIVE_MIX_PREFIX = 'golden_live_mix_';
const WEEK_MS = 7 * 86_400_000;
/** Measures that are reweighted, at the largest cut-off of the run. */
const reweighted: ReadonlySet<string> = new Set(['hit_rate', 'mrr', 'ndcg', 'recall']);

/** Stores the texts of judged documents of every golden set of the pipeline, see `recordJudgedDocuments`. */
export async function recordGoldenDocuments(
  deps: GoldenUpkeepDeps,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
): Promise<void> {
  for (const { set } of pipeline.golden) {
    const latest = await deps.sets.latest(set);
    if (latest === null) continue;
    await recordJudgedDocuments(deps, pipeline, await deps.sets.queries(set, latest.version), signal);
  }
}

/**
 * For each golden set of the pipeline measures, over the live queries of the last week:
 * - `golden_representativeness`: weighted share of live queries with a golden query near by;
 * - `golden_live_mix_<measure>`: the scores of the latest completed run, its queries weighted so that topics have the
 *   shares of live traffic; `n` is Kish's effective sample size, rounded down, and `represented` in the details the
 *   share of live traffic whose topic has a golden query at all.
 * The segment is `golden_set=<name>`.
 */
export async function measureGoldenRepresentativeness(
  deps: GoldenUpkeepDeps,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
): Promise<void> {
  const now = deps.clock.now();
  const since = new Date(now.getTime() - WEEK_MS);
  for (const { set } of pipeline.golden) {
    const latest = await deps.sets.latest(set);
    if (latest === null) continue;
    const queries = await deps.sets.queries(set, latest.version);
    const mix = await liveMixOf(deps.samples, pipeline, queries, since, signal);
    const segment = goldenSegment(set);
    const outcomes =
      mix.kind === 'unknown'
        ? [gapNow(pipeline.name, REPRESENTATIVENESS, now, mix.reason, { message: mix.message })]
        : [coverage(pipeline.name, mix, now), ...(await scores(deps, pipeline.name, set, mix, queries, now))];
    await deps.measurements.record(outcomes.map((outcome) => ({ ...outcome, segment })));
  }
}

function coverage(pipeline: string, mix: LiveMix, now: Date): MeasurementOutcome {
  if (mix.covered === null) return gapNow(pipeline, REPRESENTATIVENESS, now, 'no_vectors');
  const { value, low, high, n, effectiveSessions } = mix.covered;
  const details = {
    effective_sessions: effectiveSessions,
    represented: mix.represented,
    topics: mix.topics.map(({ share, covered, golden }) => ({ share, covered, golden })),
  };
  return valueNow(pipeline, REPRESENTATIVENESS, now, {
    value,
    n,
    ciLow: low,
    ciHigh: high,
    ciMethod: 'wilson',
    details,
  });
}

async function scores(
  { runs }: GoldenUpkeepDeps,
  pipeline: string,
  set: string,
  mix: LiveMix,
  queries: Parameters<typeof scoreQueries>[0],
  now: Date,
): Promise<MeasurementOutcome[]> {
  const [run] = await runs.list({ pipeline, goldenSet: set, status: 'completed', limit: 1 });
  if (run === undefined || run.queriesTotal !== queries.length) return [];
  const { keys, columns } = scoreQueries(queries, await runs.answers(run.id), run.settings);
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
    return [
      valueNow(pipeline, `${LIVE_MIX_PREFIX}${key.measure}`, now, { value: mean, n, ...bounds, details }),
    ];
  });
}
