/** Asks a retriever many queries: a few at a time, paced, and never for ever when it has gone away. */

import type { Retriever, RetrieverAnswer } from '../../connectors/retrievers/retriever.ts';
import { openThrottle, type Throttle } from '../../connectors/throttle/throttle.ts';
import type { Context } from '../../core/context.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { contextSize } from '../../core/text/context-size.ts';
import type { Clock } from '../../core/time.ts';
import type { GoldenRun, QueryAnswer, RunSettings } from '../rules/run.ts';
import { type AnswerDoubts, doubtsOfAnswers, misreadingOption, NOT_ASKED } from '../rules/run-failure.ts';
import { answeredStages } from '../rules/stages.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import { scheduleOf, type WatchedPipeline } from '../watched-pipeline.ts';

/** Answers are stored in batches of at most this age, so that a crash costs at most this much asking. */
const FLUSH_MS = 500;

/**
 * Asks every query once. What was answered until `signal` aborts is stored.
 *
 * @param holder tells this asker from the others of the retriever
 */
export async function answerQueries(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  queries: readonly GoldenQuery[],
  holder: string,
  signal: AbortSignal,
  onAnswer: () => void = () => undefined,
): Promise<AskEnd> {
  if (queries.length === 0) return 'asked_all';
  const gate = await openGate(context, run, holder);
  let unsaved: QueryAnswer[] = [];
  let saving: Promise<void> = Promise.resolve();
  let savedAt = context.clock.monotonicMs();
  const save = (): Promise<void> => {
    const batch = unsaved;
    unsaved = [];
    savedAt = context.clock.monotonicMs();
    saving = saving.then(() => context.db.golden.runs.saveAnswers(run.id, batch));
    return saving;
  };
  const failed = new AbortController();
  const keep = (answer: QueryAnswer): void => {
    unsaved.push(answer);
    onAnswer();
    if (context.clock.monotonicMs() - savedAt >= FLUSH_MS) save().catch((error: unknown) => failed.abort(error));
  };
  const askDeps = { retriever: pipeline.retriever, clock: context.clock, gate };
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

/**
 * Asks every query once more, as gently, and stores nothing.
 *
 * @returns in the order in which they were answered
 */
export async function askAgain(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  queries: readonly GoldenQuery[],
  holder: string,
  signal: AbortSignal,
): Promise<readonly QueryAnswer[]> {
  if (queries.length === 0) return [];
  const gate = await openGate(context, run, holder);
  const answers: QueryAnswer[] = [];
  const askDeps = { retriever: pipeline.retriever, clock: context.clock, gate };
  try {
    await askRetriever(askDeps, queries, run.settings, (answer) => answers.push(answer), signal);
    return answers;
  } finally {
    await gate.close();
  }
}

async function openGate(context: Context, run: GoldenRun, holder: string): Promise<Throttle> {
  const { concurrency, maxPerSecond } = run.settings;
  const usualLatencyMs = await usualLatency(context.db.golden.runs, run);
  return openThrottle(context, { pipeline: run.pipeline, holder, concurrency, maxPerSecond, usualLatencyMs });
}

/** Of the last completed full run; null when there is none. */
async function usualLatency(runs: GoldenRuns, run: GoldenRun): Promise<number | null> {
  const { pipeline, goldenSet } = run;
  const [last] = await runs.list({ pipeline, goldenSet, status: 'completed', before: run, limit: 1 });
  return last === undefined ? null : runs.latency95(last.id);
}

/** So many failures in a row make an outage; from then on each further one doubles the wait before the next query. */
const OUTAGE_AFTER = 20;
const OUTAGE_PATIENCE = 8;
const OUTAGE_WAIT_MS = 250;
const OUTAGE_MAX_WAIT_MS = 4000;

export interface AskDeps {
  readonly retriever: Retriever;
  readonly clock: Clock;
  readonly gate: Throttle;
}

/** `gave_up`: the retriever is gone, and queries were left unasked. */
export type AskEnd = 'asked_all' | 'gave_up';

/**
 * Asks every query once and hands over each answer as it comes. Failures are answers too. When the retriever fails
 * 20 queries in a row, of whoever asks it, it is given time, and after 8 more failures the remaining queries are answered `error` with
 * code `not_asked`: a dead service is reported in seconds, whatever the size of the set.
 *
 * Rejects with the reason of `signal` when it aborts; answers that were handed over stay good.
 */
export async function askRetriever(
  deps: AskDeps,
  queries: readonly GoldenQuery[],
  settings: RunSettings,
  onAnswer: (answer: QueryAnswer) => void,
  signal: AbortSignal,
): Promise<AskEnd> {
  const k = Math.max(...settings.cutoffs);
  const { retriever, clock, gate } = deps;
  const remaining = queries.values();
  let hasGivenUp = false;

  const askOne = async (query: GoldenQuery): Promise<QueryAnswer> => {
    const overdue = gate.failuresInARow() - OUTAGE_AFTER;
    if (overdue >= OUTAGE_PATIENCE) {
      hasGivenUp = true;
      return notAsked(query);
    }
    if (overdue >= 0) await clock.sleep(Math.min(OUTAGE_MAX_WAIT_MS, OUTAGE_WAIT_MS * 2 ** overdue), signal);
    await gate.enter(signal);
    let latencyMs: number | null = null;
    let hasFailed = true;
    try {
      const request = { text: query.text, k, tags: query.tags, withText: true, withStages: true };
      const answer = await retriever.retrieve(request, signal);
      hasFailed = answer.kind !== 'documents';
      // How quickly a service refuses says nothing of its load.
      if (answer.kind !== 'error') latencyMs = answer.latencyMs;
      return toQueryAnswer(query, answer, settings);
    } finally {
      gate.leave(latencyMs, hasFailed);
    }
  };

  let isOver = false;
  const work = async (): Promise<void> => {
    for (const query of remaining) {
      if (isOver) return;
      signal.throwIfAborted();
      onAnswer(await askOne(query));
    }
  };
  try {
    await Promise.all(Array.from({ length: settings.concurrency }, work));
  } finally {
    // When one of them failed, the others shall not go on asking.
    isOver = true;
  }
  return hasGivenUp ? 'gave_up' : 'asked_all';
}

export function toQueryAnswer(
  query: GoldenQuery,
  answer: RetrieverAnswer,
  { chunkSeparator }: Pick<RunSettings, 'chunkSeparator'> = {},
): QueryAnswer {
  const common = { queryId: query.id, latencyMs: answer.latencyMs, attempts: answer.attempts };
  switch (answer.kind) {
    case 'documents': {
      const outcome = answer.documents.length === 0 ? 'empty' : 'ok';
      // The texts themselves go no further.
      const documents = answer.documents.map(({ id, score }) => ({ id, score }));
      const context = contextSize(answer.documents.map(({ text }) => text));
      return {
        ...common,
        outcome,
        documents,
        ...(context === null ? {} : { context }),
        ...(answer.stages === undefined ? {} : { stages: answeredStages(query, answer.stages, chunkSeparator) }),
        errorCode: null,
        errorMessage: null,
      };
    }
    case 'error':
      return {
        ...common,
        outcome: 'error',
        documents: [],
        errorCode: answer.code,
        errorMessage: answer.message,
      };
    case 'timeout':
      return { ...common, outcome: 'timeout', documents: [], errorCode: null, errorMessage: answer.message };
  }
}

/** The answer to a query that a retriever which is gone was spared. */
export function notAsked(query: GoldenQuery): QueryAnswer {
  return {
    queryId: query.id,
    outcome: 'error',
    documents: [],
    latencyMs: null,
    attempts: 0,
    errorCode: NOT_ASKED,
    errorMessage: `not asked, since the retriever had failed ${OUTAGE_AFTER + OUTAGE_PATIENCE} queries in a row`,
  };
}

const MAX_ASKED = 20;

export type SampledAnswers =
  | { readonly kind: 'answers'; readonly asked: number; readonly empty: number; readonly doubts: AnswerDoubts }
  | { readonly kind: 'failed'; readonly message: string };

/** One question after the other, up to the first that fails; spread over the set. Rejects by `signal` alone. */
export async function sampleAnswers(
  pipeline: WatchedPipeline,
  set: string,
  queries: readonly GoldenQuery[],
  signal: AbortSignal,
): Promise<SampledAnswers> {
  const k = Math.max(...scheduleOf(pipeline, set).settings.cutoffs);
  const step = Math.max(1, Math.floor(queries.length / MAX_ASKED));
  const asked = queries.filter((_, index) => index % step === 0).slice(0, MAX_ASKED);
  const answers: QueryAnswer[] = [];
  for (const query of asked) {
    const answer = await pipeline.retriever.retrieve({ text: query.text, k, tags: query.tags }, signal);
    if (answer.kind !== 'documents') {
      const option = answer.kind === 'error' ? misreadingOption(answer.code) : null;
      return { kind: 'failed', message: option === null ? answer.message : `${answer.message} Mend ${option}.` };
    }
    answers.push(toQueryAnswer(query, answer));
  }
  const empty = answers.filter(({ outcome }) => outcome === 'empty').length;
  return { kind: 'answers', asked: asked.length, empty, doubts: doubtsOfAnswers(asked, answers, k) };
}
