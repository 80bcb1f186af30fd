/** Runs golden queries that have several steps, such as the hops of a multi-hop question, and merges their results. */

import type { GoldenQuery, RetrievedDocument } from '../../core/model.ts';
import { interleave } from '../../math/ir/union.ts';
import { isAnswered, type QueryAnswer } from './run.ts';

export const hasSteps = ({ steps }: GoldenQuery): boolean => steps !== undefined;

/**
 * Sends a query or, if the query has steps, sends the steps in order until a step fails. A failed step fails the query,
 * because an agent needs the results of one hop for the next, and a failure must never look like a shorter result list.
 */
export async function askInSteps(
  query: GoldenQuery,
  ask: (query: GoldenQuery) => Promise<QueryAnswer>,
): Promise<QueryAnswer> {
  if (query.steps === undefined) return ask(query);
  const answers: QueryAnswer[] = [];
  for (const text of query.steps) {
    const answer = await ask({ ...query, text });
    answers.push(answer);
    if (!isAnswered(answer)) break;
  }
  return uniteAnswers(query, answers);
}

/**
 * Merges the results of the steps: rank 1 of each step, then rank 2 of each step, and so on. The number of the step is
 * stored with each document, so that the ranking of each step can be restored. The latency is that of the slowest step,
 * because all latencies of a run refer to single requests. Stages are omitted, because their ranks are valid only
 * within the request of one step.
 */
function uniteAnswers({ id: queryId, steps = [] }: GoldenQuery, answers: readonly QueryAnswer[]): QueryAnswer {
  const latencies = answers.flatMap(({ latencyMs }) => latencyMs ?? []);
  const common = {
    queryId,
    latencyMs: latencies.length === 0 ? null : Math.max(...latencies),
    attempts: answers.reduce((sum, { attempts }) => sum + attempts, 0),
  };
  const last = answers.at(-1);
  if (!isAnswered(last)) {
    const message = last?.errorMessage ?? 'it was not sent.';
    return {
      ...common,
      outcome: last?.outcome ?? 'error',
      documents: [],
      errorCode: last?.errorCode ?? null,
      errorMessage: `Step ${Math.max(1, answers.length)} of ${steps.length}: ${message}`,
    };
  }
  const documents = interleave(
    answers.map((answer, index) => answer.documents.map((document) => ({ ...document, step: index + 1 }))),
  );
  const sizes = answers.filter((answer) => answer.documents.length > 0).map(({ context }) => context);
  const known = sizes.filter((size) => size !== undefined);
  const characters = known.reduce((sum, size) => sum + size.characters, 0);
  const repeated = known.reduce((sum, size) => sum + size.repeated * size.characters, 0);
  return {
    ...common,
    outcome: documents.length === 0 ? 'empty' : 'ok',
    documents,
    ...(known.length === 0 || known.length < sizes.length
      ? {}
      : { context: { characters, repeated: characters === 0 ? 0 : repeated / characters } }),
    errorCode: null,
    errorMessage: null,
  };
}

/** Returns the ranking of each step, in step order; for a query without steps, returns a single ranking. */
export function rankingsOf(documents: readonly RetrievedDocument[]): (readonly RetrievedDocument[])[] {
  if (documents.every(({ step }) => step === undefined)) return [documents];
  const rankings: RetrievedDocument[][] = [];
  for (const document of documents) {
    const { step = 1 } = document;
    while (rankings.length < step) rankings.push([]);
    rankings[step - 1]?.push(document);
  }
  return rankings;
}

/** Returns the documents in the top k of the query's ranking, or of any step's ranking. */
export function returnedWithin(documents: readonly RetrievedDocument[], k: number): ReadonlySet<string> {
  return new Set(rankingsOf(documents).flatMap((ranking) => ranking.slice(0, k).map(({ id }) => id)));
}

/** Returns the best rank (from 1) of a document in the query's ranking, or in any step's ranking. */
export function bestRank(documents: readonly RetrievedDocument[], id: string): number {
  const ranks = rankingsOf(documents).flatMap((ranking) => {
    const place = ranking.findIndex((document) => document.id === id);
    return place === -1 ? [] : [place + 1];
  });
  return Math.min(...ranks);
}

/** Returns the first rank (from 1) of each document. */
export function ranksOf(documents: readonly RetrievedDocument[]): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [index, { id }] of documents.entries()) if (!ranks.has(id)) ranks.set(id, index + 1);
  return ranks;
}
