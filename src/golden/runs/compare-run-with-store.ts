import type { Context } from '../../core/context.ts';
import { HOUR_MS } from '../../core/time.ts';
import { compareWithStore } from '../../index/probes/compare-with-store.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { readComparedSide } from './stored-runs.ts';

/** Texts that were read later than this before a run may already show the fault. */
const EARLIER_MS = 6 * HOUR_MS;

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
    const missed = judgments
      .filter(({ documentId, grade }) => grade >= settings.relevanceLevel && !documents.includes(documentId))
      .map(({ documentId }) => documentId);
    return [{ id, text, documents, missed }];
  });
  const readBefore = new Date(run.finishedAt.getTime() - EARLIER_MS);
  const earlierTexts = async (ids: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const seen = await context.db.golden.documents.seen(pipeline.name, ids);
    return new Map([...seen].flatMap(([id, { content, seenAt }]) => (seenAt <= readBefore ? [[id, content]] : [])));
  };
  await compareWithStore(context, pipeline, { id: run.id, finishedAt: run.finishedAt, answered, earlierTexts }, signal);
}
