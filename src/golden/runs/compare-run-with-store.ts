import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import { compareWithStore } from '../../index/probes/compare-with-store.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { readComparedSide } from './stored-runs.ts';

/**
 * Compares the results of a run with the content of the store (`compareWithStore`). Does nothing for a run that has not
 * completed. Rejects only if `signal` aborts (with its reason) or if the database fails.
 */
export async function compareRunWithStore(
  context: Context,
  pipeline: WatchedPipeline,
  runId: string,
  signal: AbortSignal,
): Promise<void> {
  if (pipeline.store === null) return;
  const run = await context.db.golden.runs.find(runId);
  if (run?.status !== 'completed' || run.finishedAt === null) return;
  const { queries, answers, settings } = await readComparedSide(context, run);
  const k = Math.max(...settings.cutoffs);
  const found = new Map(answers.map((one) => [one.queryId, one]));
  // Skips queries with steps, because the store is searched with a single text per query.
  const answered = queries.flatMap(({ id, text, steps, judgments }) => {
    const answer = found.get(id);
    if (answer?.outcome !== 'ok' || steps !== undefined) return [];
    const documents = answer.documents.slice(0, k).map((one) => one.id);
    const relevant = new Set(
      judgments.filter(({ grade }) => grade >= settings.relevanceLevel).map(({ documentId }) => documentId),
    );
    const firstOther = documents.findIndex((id) => !relevant.has(id));
    const low = firstOther === -1 ? [] : documents.slice(firstOther).filter((id) => relevant.has(id));
    return [{ id, text, documents, missed: [...relevant].filter((id) => !documents.includes(id)), low }];
  });
  const weekAgo = new Date(run.finishedAt.getTime() - 7 * DAY_MS);
  const earlierTexts = (ids: readonly string[]) => context.db.golden.documents.textsAt(pipeline.name, ids, weekAgo);
  await compareWithStore(context, pipeline, { id: run.id, finishedAt: run.finishedAt, answered, earlierTexts }, signal);
}
