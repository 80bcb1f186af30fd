import type { Context } from '../../core/context.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { type ChosenQuery, chooseQueries, suggestJudgments } from '../rules/promotion.ts';
import type { RunProgress } from '../runs/run-golden-set.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { measureLiveMix } from './live-mix.ts';

/** Maximum number of live queries that are considered. */
const CANDIDATES = 20_000;
/** Number of top results per query that are listed for judgment. */
const DEPTH = 10;

/**
 * Selects live queries, and lists the documents to judge for each query. If the retriever fails for a query, lists only
 * the documents that users saw. Rejects only on database errors, or with `signal.reason` if `signal` aborts.
 */
export async function promoteLiveQueries(
  context: Context,
  pipeline: WatchedPipeline,
  golden: readonly GoldenQuery[],
  since: Date,
  max: number,
  signal: AbortSignal,
  onProgress: (progress: RunProgress) => void,
) {
  const candidates = await context.db.live.samples.candidates({ pipeline: pipeline.name, since, limit: CANDIDATES });
  const uncovered = await uncoveredQueries(context, pipeline, golden, since, signal);
  const chosen = chooseQueries(candidates, { max, golden, uncovered });
  const promoted: Promoted[] = [];
  for (const query of chosen) {
    onProgress({ answered: promoted.length, total: chosen.length });
    promoted.push(await withJudgments(query, pipeline, signal));
  }
  return {
    /** Number of live queries that have a stored text, from which the queries in `promoted` were chosen. */
    candidates: candidates.length,
    promoted,
  };
}

/**
 * Returns ids of the most typical live queries in topics without a golden query; an empty set if there are no golden
 * queries, or if the mix of live queries is unknown.
 */
async function uncoveredQueries(
  { db }: Context,
  pipeline: WatchedPipeline,
  golden: readonly GoldenQuery[],
  since: Date,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  if (golden.length === 0) return new Set();
  const mix = await measureLiveMix(db.live.samples, pipeline, golden, since, signal);
  if (mix.kind === 'unknown') return new Set();
  const lacking = mix.topics.filter((topic) => topic.golden === 0);
  return new Set(lacking.flatMap(({ typical }) => typical.flatMap((row) => mix.live[row]?.id ?? [])));
}

export type Promoted = Awaited<ReturnType<typeof withJudgments>>;

async function withJudgments(query: ChosenQuery, { retriever }: WatchedPipeline, signal: AbortSignal) {
  const { text, tags, results, grades } = query.source;
  const answer = await retriever.retrieve({ text, tags, k: DEPTH, withText: true }, signal);
  const found = answer.kind === 'documents' ? answer.documents : [];
  const texts = new Map(found.flatMap((one) => (typeof one.text === 'string' ? [[one.id, one.text] as const] : [])));
  const gap =
    answer.kind === 'documents'
      ? null
      : answer.kind === 'timeout'
        ? 'The retriever did not respond in time.'
        : answer.message;
  return {
    ...query,
    judgments: suggestJudgments(results, found, query.feedback, grades, DEPTH),
    /** Document texts, if the retriever returns them. */
    texts,
    /** Reason why the retriever failed; null if it succeeded. */
    gap,
  };
}
