/** Sends queries to a retriever at a limited concurrency and rate, and stops if the retriever is down. */

import type { Retriever, RetrieverAnswer } from '../../connectors/retrievers/retriever.ts';
import { openThrottle, type Throttle } from '../../connectors/throttle/throttle.ts';
import type { Context } from '../../core/context.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { contextSize } from '../../core/text/context-size.ts';
import type { Clock } from '../../core/time.ts';
import type { GoldenRun, QueryAnswer, RunSettings } from '../rules/run.ts';
import { type AnswerWarnings, checkAnswers, misreadingOption, NOT_ASKED } from '../rules/run-failure.ts';
import { answeredStages } from '../rules/stages.ts';
import { askInSteps } from '../rules/steps.ts';
import { scheduleOf, type WatchedPipeline } from '../watched-pipeline.ts';

/**
 * Interval at which new results are stored, in milliseconds. A crash loses at most the results that arrived since the
 * last save.
 */
const FLUSH_MS = 500;

/**
 * Sends every query once and stores the results that arrive before `signal` aborts.
 *
 * @param holder identifies this caller to the throttle that all callers of the retriever share
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
  const add = (answer: QueryAnswer): void => {
    unsaved.push(answer);
    onAnswer();
    if (context.clock.monotonicMs() - savedAt >= FLUSH_MS) save().catch((error: unknown) => failed.abort(error));
  };
  try {
    return await askThrottled(context, run, pipeline, queries, holder, add, AbortSignal.any([signal, failed.signal]));
  } finally {
    await save();
  }
}

/** Sends every query once, under the limits that all callers of the retriever share, and stores nothing. */
export async function askThrottled(
  context: Context,
  run: GoldenRun,
  { retriever }: WatchedPipeline,
  queries: readonly GoldenQuery[],
  holder: string,
  onAnswer: (answer: QueryAnswer) => void,
  signal: AbortSignal,
): Promise<AskEnd> {
  if (queries.length === 0) return 'asked_all';
  const { pipeline, goldenSet } = run;
  const { concurrency, maxPerSecond } = run.settings;
  const { runs } = context.db.golden;
  const [last] = await runs.list({ pipeline, goldenSet, status: 'completed', before: run, limit: 1 });
  const usualLatencyMs = last === undefined ? null : await runs.latency95(last.id);
  const limits = { pipeline, holder, concurrency, maxPerSecond, usualLatencyMs };
  const throttle = await openThrottle(context, limits);
  try {
    return await askRetriever(retriever, context.clock, throttle, queries, run.settings, onAnswer, signal);
  } finally {
    await throttle.close();
  }
}

/**
 * Number of consecutive failures that count as an outage. Each further failure doubles the wait before the next query.
 */
const OUTAGE_AFTER = 20;
const OUTAGE_PATIENCE = 8;
const OUTAGE_WAIT_MS = 250;
const OUTAGE_MAX_WAIT_MS = 4000;

/** `gave_up`: the retriever is down, and the remaining queries were not sent. */
export type AskEnd = 'asked_all' | 'gave_up';

/**
 * Sends every query once, with its steps in order, and passes the results of each query, including failures, to
 * `onAnswer`. After 20 consecutive failures, which are counted over all callers of the retriever, waits before each
 * further query. After 8 more failures, stops sending queries, and records the remaining queries as `error` with the
 * code `not_asked`, so that recalld reports an outage within seconds, even for a large set.
 *
 * Rejects with the reason of `signal` when the signal aborts; results that have already been passed on remain valid.
 */
export async function askRetriever(
  retriever: Retriever,
  clock: Clock,
  throttle: Throttle,
  queries: readonly GoldenQuery[],
  settings: RunSettings,
  onAnswer: (answer: QueryAnswer) => void,
  signal: AbortSignal,
): Promise<AskEnd> {
  const k = Math.max(...settings.cutoffs);
  const remaining = queries.values();
  let hasGivenUp = false;

  const askOne = async (query: GoldenQuery): Promise<QueryAnswer> => {
    const overdue = throttle.failuresInARow() - OUTAGE_AFTER;
    if (overdue >= OUTAGE_PATIENCE) {
      hasGivenUp = true;
      return notAsked(query);
    }
    if (overdue >= 0) await clock.sleep(Math.min(OUTAGE_MAX_WAIT_MS, OUTAGE_WAIT_MS * 2 ** overdue), signal);
    await throttle.enter(signal);
    let latencyMs: number | null = null;
    let hasFailed = true;
    try {
      const request = { text: query.text, k, tags: query.tags, withText: true, withStages: true };
      const answer = await retriever.retrieve(request, signal);
      hasFailed = answer.kind !== 'documents';
      // Ignores the latency of a failed request, because it says nothing about the load of the service.
      if (answer.kind !== 'error') latencyMs = answer.latencyMs;
      return toQueryAnswer(query, answer, settings.chunkSeparator);
    } finally {
      throttle.leave(latencyMs, hasFailed);
    }
  };

  let isOver = false;
  const work = async (): Promise<void> => {
    for (const query of remaining) {
      if (isOver) return;
      signal.throwIfAborted();
      onAnswer(await askInSteps(query, askOne));
    }
  };
  try {
    await Promise.all(Array.from({ length: settings.concurrency }, work));
  } finally {
    // If one of the concurrent loops fails, the other loops stop too.
    isOver = true;
  }
  return hasGivenUp ? 'gave_up' : 'asked_all';
}

function toQueryAnswer(query: GoldenQuery, answer: RetrieverAnswer, chunkSeparator?: string): QueryAnswer {
  const common = { queryId: query.id, latencyMs: answer.latencyMs, attempts: answer.attempts };
  switch (answer.kind) {
    case 'documents': {
      const outcome = answer.documents.length === 0 ? 'empty' : 'ok';
      // The texts of the documents are not stored.
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
      return { ...common, outcome: 'error', documents: [], errorCode: answer.code, errorMessage: answer.message };
    case 'timeout':
      return { ...common, outcome: 'timeout', documents: [], errorCode: null, errorMessage: answer.message };
  }
}

/** Returns the result to record for a query that was not sent because the retriever is down. */
export function notAsked(query: GoldenQuery): QueryAnswer {
  return {
    queryId: query.id,
    outcome: 'error',
    documents: [],
    latencyMs: null,
    attempts: 0,
    errorCode: NOT_ASKED,
    errorMessage: `The query was not sent: the retriever had failed for ${OUTAGE_AFTER + OUTAGE_PATIENCE} queries in a row.`,
  };
}

/** Sends one query, with its steps in order, without applying the retriever's limits. */
export function askUnlimited({ retriever }: WatchedPipeline, query: GoldenQuery, k: number, signal: AbortSignal) {
  return askInSteps(query, async (step) =>
    toQueryAnswer(step, await retriever.retrieve({ text: step.text, k, tags: step.tags }, signal)),
  );
}

const MAX_ASKED = 20;

export type SampledAnswers =
  | { readonly kind: 'answers'; readonly asked: number; readonly empty: number; readonly warnings: AnswerWarnings }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * Sends up to 20 queries, spread over the set, one at a time, until the first failure.
 *
 * @throws only the reason of `signal`
 */
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
    const answer = await askUnlimited(pipeline, query, k, signal);
    if (answer.outcome === 'error' || answer.outcome === 'timeout') {
      const option = answer.errorCode === null ? null : misreadingOption(answer.errorCode);
      const message = answer.errorMessage ?? 'The retriever failed.';
      return { kind: 'failed', message: option === null ? message : `${message} Check ${option}.` };
    }
    answers.push(answer);
  }
  const empty = answers.filter(({ outcome }) => outcome === 'empty').length;
  return { kind: 'answers', asked: asked.length, empty, warnings: checkAnswers(asked, answers, k) };
}
