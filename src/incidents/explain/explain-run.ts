import type { Context } from '../../core/context.ts';
import { type ExplainedRun, explainAll, filtersOf, missesOfRun } from './answers.ts';

/** Maximum time that a page waits. */
const TIMEOUT_MS = 60_000;

/**
 * Explains the missed documents of a stored run by sending its queries to the retriever again. Returns no explanations
 * for a pipeline that is no longer configured.
 *
 * @throws RecalldError run_unknown, query_unknown, retriever_busy
 */
export async function explainRun(
  context: Context,
  runId: string,
  { queryId, limit }: { readonly queryId: string | null; readonly limit: number },
): Promise<ExplainedRun> {
  const { run, misses, questions } = await missesOfRun(context, runId, { queryId, document: null, limit });
  const pipeline = context.pipelines.find(({ name }) => name === run.pipeline);
  if (pipeline === undefined) return { misses, explained: [] };
  const filters = filtersOf(context.config, run.pipeline);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return { misses, explained: await explainAll(context, pipeline, questions, filters, signal) };
}
