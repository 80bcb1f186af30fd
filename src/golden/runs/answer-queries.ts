/** Asks queries of a run and stores what comes, little by little. */

import type { GoldenQuery } from '../../model.ts';
import type { GoldenRun, QueryAnswer } from '../rules/run.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { type AskEnd, askRetriever } from './ask-retriever.ts';
import { type GateDeps, openRetrieverGate } from './retriever-gate.ts';

/** Answers are stored in batches of at most this age, so that a crash costs at most this much asking. */
const FLUSH_MS = 500;

export interface AnswerDeps extends GateDeps {
  readonly runs: GoldenRuns;
}

/**
 * Asks every query once. What was answered until `signal` aborts is stored.
 *
 * @param holder tells this asker from the others of the retriever
 */
export async function answerQueries(
  deps: AnswerDeps,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  queries: readonly GoldenQuery[],
  holder: string,
  signal: AbortSignal,
  onAnswer: () => void = () => undefined,
): Promise<AskEnd> {
  if (queries.length === 0) return 'asked_all';
  const { concurrency, maxPerSecond } = run.settings;
  const usualLatencyMs = await usualLatency(deps.runs, run);
  const gate = await openRetrieverGate(deps, {
    pipeline: pipeline.name,
    holder,
    concurrency,
    maxPerSecond,
    usualLatencyMs,
  });
  let unsaved: QueryAnswer[] = [];
  let saving: Promise<void> = Promise.resolve();
  let savedAt = deps.clock.monotonicMs();
  const save = (): Promise<void> => {
    const batch = unsaved;
    unsaved = [];
    savedAt = deps.clock.monotonicMs();
    saving = saving.then(() => deps.runs.saveAnswers(run.id, batch));
    return saving;
  };
  const failed = new AbortController();
  const keep = (answer: QueryAnswer): void => {
    unsaved.push(answer);
    onAnswer();
    if (deps.clock.monotonicMs() - savedAt >= FLUSH_MS) save().catch((error: unknown) => failed.abort(error));
  };
  const askDeps = { retriever: pipeline.retriever, clock: deps.clock, gate };
  try {
    return await askRetriever(askDeps, queries, run.settings, keep, AbortSignal.any([signal, failed.signal]));
  } finally {
    try {
      await save();
    } finally {
      await gate.close();
    }
  }
}

/** Of the last completed full run; null when there is none. */
async function usualLatency(runs: GoldenRuns, run: GoldenRun): Promise<number | null> {
  const { pipeline, goldenSet } = run;
  const [last] = await runs.list({ pipeline, goldenSet, status: 'completed', before: run, limit: 1 });
  return last === undefined ? null : runs.latency95(last.id);
}
