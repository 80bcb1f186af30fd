/** Turns live queries into questions for a person to judge. */

import type { Context } from '../../core/context.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { type ChosenQuery, chooseQueries, type SuggestedJudgment, suggestJudgments } from '../rules/promotion.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { liveMixOf } from './live-mix.ts';

export interface PromotionRequest {
  readonly since: Date;
  readonly most: number;
  /** The queries of the golden set that they are to join. */
  readonly golden: readonly GoldenQuery[];
}

/** A live question with the documents to judge. */
export interface Promoted extends ChosenQuery {
  readonly judgments: readonly SuggestedJudgment[];
  /** Texts of documents, where the retriever gives them. */
  readonly texts: ReadonlyMap<string, string>;
  /** Why the retriever was of no help, null when it answered. */
  readonly gap: string | null;
}

/** Most live queries that are looked at. */
const CANDIDATES = 20_000;
/** Ranks that are pooled. */
const DEPTH = 10;

/** Never fails but by `signal` and by the database; a question that the retriever fails has what was shown alone. */
export async function promoteLiveQueries(
  context: Context,
  pipeline: WatchedPipeline,
  { since, most, golden }: PromotionRequest,
  signal: AbortSignal,
  onProgress: (progress: { readonly answered: number; readonly total: number }) => void,
) {
  const candidates = await context.db.live.candidates.read({ pipeline: pipeline.name, since, limit: CANDIDATES });
  const uncovered = await uncoveredQueries(context, pipeline, golden, since, signal);
  const chosen = chooseQueries(candidates, { most, golden, uncovered });
  const promoted: Promoted[] = [];
  for (const query of chosen) {
    onProgress({ answered: promoted.length, total: chosen.length });
    promoted.push(await withJudgments(query, pipeline, signal));
  }
  return {
    /** Live queries with a text that were looked at. */
    candidates: candidates.length,
    promoted,
  };
}

/** Ids of live queries in topics without a golden query; none where nobody can tell. */
async function uncoveredQueries(
  { db }: Context,
  pipeline: WatchedPipeline,
  golden: readonly GoldenQuery[],
  since: Date,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  if (golden.length === 0) return new Set();
  const mix = await liveMixOf(db.live.samples, pipeline, golden, since, signal);
  if (mix.kind === 'unknown') return new Set();
  const lacking = mix.topics.filter((topic) => topic.golden === 0);
  return new Set(lacking.flatMap(({ typical }) => typical.flatMap((row) => mix.live[row]?.id ?? [])));
}

async function withJudgments(
  query: ChosenQuery,
  { retriever }: WatchedPipeline,
  signal: AbortSignal,
): Promise<Promoted> {
  const { text, tags, results, grades } = query.source;
  const answer = await retriever.retrieve({ text, tags, k: DEPTH, withText: true }, signal);
  const found = answer.kind === 'documents' ? answer.documents : [];
  const texts = new Map(found.flatMap((one) => (typeof one.text === 'string' ? [[one.id, one.text] as const] : [])));
  const gap =
    answer.kind === 'documents'
      ? null
      : answer.kind === 'timeout'
        ? 'The retriever did not answer in time.'
        : answer.message;
  return {
    ...query,
    judgments: suggestJudgments(results, found, { feedback: query.feedback, grades }, DEPTH),
    texts,
    gap,
  };
}
