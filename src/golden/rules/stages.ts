/**
 * Measures the shares of the relevant documents in a golden set that each retriever stage keeps and loses. Each share
 * is computed per query, over its relevant documents (like recall), and then averaged over the queries.
 */

import type { GoldenQuery } from '../../core/model.ts';
import { type MetricSummary, summarize } from '../../math/stats/descriptive.ts';
import { newcombePairedInterval } from '../../math/stats/intervals.ts';
import { mcnemarExact } from '../../math/stats/paired-tests.ts';
import {
  ANSWER,
  type AnsweredStage,
  isAnswered,
  type MovedQueries,
  type QueryAnswer,
  type RunStages,
  type StageStep,
} from './run.ts';
import { documentOf } from './score-run.ts';

/** Returns the ranks of judged documents in each stage. */
export function answeredStages(
  { judgments }: GoldenQuery,
  stages: readonly {
    readonly name: string;
    readonly isSide?: boolean;
    readonly documents: readonly { readonly id: string }[];
    readonly latencyMs?: number;
  }[],
  chunkSeparator: string | undefined,
): AnsweredStage[] {
  const named = (id: string) => (chunkSeparator === undefined ? id : documentOf(id, chunkSeparator));
  const judged = new Set(judgments.map(({ documentId }) => named(documentId)));
  return stages.map(({ name, isSide = false, documents, latencyMs = null }) => {
    const distinct = [...new Set(documents.map(({ id }) => named(id)))];
    const ranks = distinct.flatMap((id, place) => (judged.has(id) ? [[id, place + 1] as const] : []));
    return { name, isSide, documents: distinct.length, latencyMs, ranks: Object.fromEntries(ranks) };
  });
}

export type StagedQuery = ReturnType<typeof stagedQueries>[number];

/**
 * Returns the judged queries that have a relevant document, each with the ranks of its documents in every stage. The
 * document ids in `answers`, in `stagesOf` and in the judgments must have the same form.
 */
export function stagedQueries(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  stagesOf: ReadonlyMap<string, readonly AnsweredStage[]>,
  relevanceLevel: number,
) {
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  return queries.flatMap(({ id, judgments }) => {
    const relevant = judgments.filter(({ grade }) => grade >= relevanceLevel).map((one) => one.documentId);
    if (relevant.length === 0) return [];
    const answer = answerOf.get(id);
    const ranking = [...new Set(answer?.documents.map((found) => found.id))];
    return [
      {
        relevant,
        /** Keyed by stage name; empty if the retriever reports no stages. */
        stages: new Map(stagesOf.get(id)?.map((stage) => [stage.name, stage])),
        /** Ranks of the returned relevant documents, from 1. */
        answer: new Map(
          relevant.flatMap((one) => (ranking.includes(one) ? [[one, ranking.indexOf(one) + 1] as const] : [])),
        ),
        latencyMs: answer?.latencyMs ?? null,
        hasFailed: !isAnswered(answer),
      },
    ];
  });
}

/** Returns null if no response reports a stage. */
export function summarizeStages(queries: readonly StagedQuery[], k: number): RunStages | null {
  const reported = queries.filter(({ stages, hasFailed }) => hasFailed || stages.size > 0);
  if (reported.every(({ hasFailed }) => hasFailed)) return null;
  const groups = stepNames(reported);
  const lost = reported.map((query) => lossesOf(query, groups, k));
  const failed = reported.map(({ hasFailed }) => (hasFailed ? 1 : 0));
  return {
    k,
    n: reported.length,
    failed: reported.filter(({ hasFailed }) => hasFailed).length,
    unreported: queries.length - reported.length,
    lostToFailures: summarize(failed, 'hit_rate'),
    steps: [...groups, null].map((names, step) => stepOf(reported, groups, names, step, k, lost)),
  };
}

/**
 * Returns, for each query, the share of its relevant documents that each step loses; the last step is the final
 * results. Failed queries lose no documents in any step.
 */
export function lossesByStep(
  queries: readonly StagedQuery[],
  k: number,
): { readonly names: readonly string[]; readonly losses: readonly (readonly number[])[] } {
  const groups = stepNames(queries);
  return {
    names: [...groups.map(nameOf), ANSWER],
    losses: queries.map((query) => lossesOf(query, groups, k)),
  };
}

const nameOf = (names: readonly string[]): string => names.join(' and ');

/**
 * Groups the stages into steps; parallel stages form one step. The steps are ordered as in the response with the most
 * stages.
 */
function stepNames(queries: readonly StagedQuery[]): string[][] {
  const all = queries.map(({ stages }) => [...stages.values()]).toSorted((a, b) => b.length - a.length);
  const groups: { readonly isSide: boolean; readonly names: string[] }[] = [];
  for (const { name, isSide } of all.flat()) {
    if (groups.some(({ names }) => names.includes(name))) continue;
    const last = groups.at(-1);
    if (isSide && last?.isSide === true) last.names.push(name);
    else groups.push({ isSide, names: [name] });
  }
  return groups.map(({ names }) => names);
}

function rankAt({ stages }: StagedQuery, names: readonly string[], id: string): number | null {
  const ranks = names.flatMap((name) => stages.get(name)?.ranks[id] ?? []);
  return ranks.length === 0 ? null : Math.min(...ranks);
}

function lossesOf(query: StagedQuery, groups: readonly string[][], k: number): number[] {
  const losses = [...groups, []].map(() => 0);
  if (query.hasFailed) return losses;
  for (const id of query.relevant) {
    if ((query.answer.get(id) ?? k + 1) <= k) continue;
    const step = groups.findLastIndex((names) => rankAt(query, names, id) !== null) + 1;
    losses[step] = (losses[step] ?? 0) + 1 / query.relevant.length;
  }
  return losses;
}

/** @param names stages of the step; null for the final results */
function stepOf(
  queries: readonly StagedQuery[],
  groups: readonly string[][],
  names: readonly string[] | null,
  step: number,
  k: number,
  lost: readonly number[][],
): StageStep {
  const before = groups[step - 1];
  const rankIn = (query: StagedQuery, stages: readonly string[] | null, id: string): number | null =>
    stages === null ? (query.answer.get(id) ?? null) : rankAt(query, stages, id);
  // A stage passes on all of its documents, and the final results are truncated at k.
  const isIn = (rank: number | null): boolean => rank !== null && (names !== null || rank <= k);
  const hits = (stages: readonly string[] | null) =>
    queries.map((query) => query.relevant.some((id) => (rankIn(query, stages, id) ?? k + 1) <= k));
  return {
    name: names === null ? ANSWER : nameOf(names),
    recall: shareOf(queries, (query, id) => isIn(rankIn(query, names, id))),
    lost: lossAt(lost, step),
    moved: before?.length === 1 ? movedBetween(hits(before), hits(names)) : null,
    ...timesOf(queries.flatMap((query) => (names === null ? timeLeft(query, groups) : timeOf(query, names)))),
  };
}

function shareOf(queries: readonly StagedQuery[], has: (query: StagedQuery, id: string) => boolean): MetricSummary {
  const shares = queries.map((query) => query.relevant.filter((id) => has(query, id)).length / query.relevant.length);
  return summarize(shares, 'recall');
}

function lossAt(lost: readonly number[][], step: number): MetricSummary {
  return summarize(
    lost.map((losses) => Math.min(1, losses[step] ?? 0)),
    'recall',
  );
}

function movedBetween(before: readonly boolean[], after: readonly boolean[]): MovedQueries {
  const count = (was: boolean, is: boolean) => before.filter((hit, query) => hit === was && after[query] === is).length;
  const [came, went] = [count(false, true), count(true, false)];
  const hits = { both: count(true, true), onlyBaseline: went, onlyCandidate: came, neither: count(false, false) };
  const { low, high } = newcombePairedInterval(hits, 0.95);
  const difference = (came - went) / before.length;
  const bounds = { ciLow: Math.min(low, difference), ciHigh: Math.max(high, difference) };
  return { in: came, out: went, difference, ...bounds, p: mcnemarExact(went, came).p };
}

function timesOf(latencies: readonly number[]) {
  const sorted = latencies.toSorted((a, b) => a - b);
  return { latencyP95Ms: sorted[Math.ceil(0.95 * sorted.length) - 1] ?? null, timed: sorted.length };
}

/** Returns the time that a response spent outside all stages, in milliseconds; an empty array if unknown. */
function timeLeft(query: StagedQuery, groups: readonly string[][]): number[] {
  const { stages, latencyMs, hasFailed } = query;
  if (latencyMs === null || hasFailed || stages.size === 0) return [];
  const own = groups.flatMap((names) => timeOf(query, names));
  const left = own.reduce((rest, one) => rest - one, latencyMs);
  return own.length < groups.length ? [] : [Math.max(0, left)];
}

/** Returns the time of the slowest parallel stage; an empty array if any of the stages does not report its time. */
function timeOf({ stages }: StagedQuery, names: readonly string[]): number[] {
  const own = names.flatMap((name) => stages.get(name)?.latencyMs ?? []);
  return own.length === names.length ? [Math.max(...own)] : [];
}
