/** Asks a retriever many queries: a few at a time, paced, and never for ever when it has gone away. */
import type { QueryAnswer, RunSettings } from '../core/golden/run.ts';
import type { GoldenQuery } from '../core/model.ts';
import type { Clock } from '../ports/clock.ts';
import type { Retriever, RetrieverAnswer } from '../ports/retriever.ts';

/** So many failures in a row make an outage; from then on each further one doubles the wait before the next query. */
const OUTAGE_AFTER = 20;
const OUTAGE_PATIENCE = 8;
const OUTAGE_WAIT_MS = 250;
const OUTAGE_LONGEST_WAIT_MS = 4000;

export interface AskDeps {
  readonly retriever: Retriever;
  readonly clock: Clock;
}

/**
 * Asks every query once and hands over each answer as it comes. Failures are answers too. When the retriever fails
 * 20 queries in a row it is given time, and after 8 more failures the remaining queries are answered `error` with
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
): Promise<void> {
  const k = Math.max(...settings.cutoffs);
  const pace = createPace(deps.clock, settings.maxPerSecond);
  const remaining = queries.values();
  let failuresInARow = 0;

  const askOne = async (query: GoldenQuery): Promise<QueryAnswer> => {
    const overdue = failuresInARow - OUTAGE_AFTER;
    if (overdue >= OUTAGE_PATIENCE) return notAsked(query, failuresInARow);
    if (overdue >= 0)
      await deps.clock.sleep(Math.min(OUTAGE_LONGEST_WAIT_MS, OUTAGE_WAIT_MS * 2 ** overdue), signal);
    await pace(signal);
    const answer = await deps.retriever.retrieve({ text: query.text, k, tags: query.tags }, signal);
    failuresInARow = answer.kind === 'documents' ? 0 : failuresInARow + 1;
    return toQueryAnswer(query, answer);
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
}

/** Evenly spaced turns, at most `perSecond` of them in any second. */
function createPace(clock: Clock, perSecond: number): (signal: AbortSignal) => Promise<void> {
  const gapMs = 1000 / perSecond;
  let next = clock.monotonicMs();
  return async (signal) => {
    const now = clock.monotonicMs();
    const turn = Math.max(now, next);
    next = turn + gapMs;
    if (turn > now) await clock.sleep(turn - now, signal);
  };
}

function toQueryAnswer(query: GoldenQuery, answer: RetrieverAnswer): QueryAnswer {
  const common = { queryId: query.id, latencyMs: answer.latencyMs, attempts: answer.attempts };
  switch (answer.kind) {
    case 'documents': {
      const outcome = answer.documents.length === 0 ? 'empty' : 'ok';
      return { ...common, outcome, documents: answer.documents, errorCode: null, errorMessage: null };
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
      return { ...common, outcome: 'timeout', documents: [], errorCode: null, errorMessage: null };
  }
}

function notAsked(query: GoldenQuery, failuresInARow: number): QueryAnswer {
  return {
    queryId: query.id,
    outcome: 'error',
    documents: [],
    latencyMs: null,
    attempts: 0,
    errorCode: 'not_asked',
    errorMessage: `not asked, since the retriever had failed ${failuresInARow} queries in a row`,
  };
}
