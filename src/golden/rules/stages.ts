/**
 * Measures how many of a golden set's relevant documents each retriever stage keeps and loses. Each share is computed
 * per query, as a share of its relevant documents like recall, and then averaged over the queries.
 */

import type { GoldenQuery } from '../../core/model.ts';
import { type MetricSummary, summarize } from '../../math/stats/descriptive.ts';
import { newcombePairedInterval } from '../../math/stats/intervals.ts';
import { mcnemarExact } from '../../math/stats/paired-tests.ts';
import {
  ANSWER,
  type AnsweredStage,
  type MovedQueries,
  type QueryAnswer,
  type RunStages,
  type StageStep,
} from './run.ts';
import { documentOf } from './score-run.ts';

/**
 * Returns the ranks of judged documents in each stage.
 * @param chunkSeparator from the run settings
 */
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

/** The relevant documents of one query, and their ranks in each stage. */
export interface StagedQuery {
  /** Ids of the relevant documents. */
  readonly relevant: readonly string[];
  /** Ranks by stage name; empty if the retriever reports no stages. */
  readonly stages: ReadonlyMap<string, AnsweredStage>;
  /** Ranks of the returned relevant documents, from 1. */
  readonly answer: ReadonlyMap<string, number>;
  readonly latencyMs: number | null;
  readonly hasFailed: boolean;
}

/**
 * Returns the judged queries with their ranks by stage. Skips queries without a relevant document.
 *
 * @param answers results with document ids in the same form as in the judgments; `stagesOf` must use that form too
 * @param stagesOf stages by query id
 */
export function stagedQueries(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  stagesOf: ReadonlyMap<string, readonly AnsweredStage[]>,
  relevanceLevel: number,
): StagedQuery[] {
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  return queries.flatMap(({ id, judgments }) => {
    const relevant = judgments.filter(({ grade }) => grade >= relevanceLevel).map((one) => one.documentId);
    if (relevant.length === 0) return [];
    const answer = answerOf.get(id);
    const ranking = [...new Set(answer?.documents.map((found) => found.id))];
    return [
      {
        relevant,
        stages: new Map(stagesOf.get(id)?.map((stage) => [stage.name, stage])),
        answer: new Map(
          relevant.flatMap((one) => (ranking.includes(one) ? [[one, ranking.indexOf(one) + 1] as const] : [])),
        ),
        latencyMs: answer?.latencyMs ?? null,
        hasFailed: answer === undefined || answer.outcome === 'error' || answer.outcome === 'timeout',
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
    steps: [
      ...groups.map((names, step) => stepOf(reported, groups, names, step, k, lost)),
      answerStep(reported, groups, k, lost),
    ],
  };
}

/**
 * Returns, for each query, which share of its relevant documents each step loses; the last step is the final results.
 * Failed queries lose no documents in any step.
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
 * Returns the stage names of each step, in the order of the response that reports the most stages; parallel stages form
 * one step.
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

/** Returns the best rank of a document in the stages of a step, or null if no stage has it. */
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

function stepOf(
  queries: readonly StagedQuery[],
  groups: readonly string[][],
  names: readonly string[],
  step: number,
  k: number,
  lost: readonly number[][],
): StageStep {
  const before = groups[step - 1];
  const hits = (group: readonly string[]) => queries.map((query) => isHit(query, group, k));
  const latencies = queries.flatMap(({ stages }) => {
    const own = names.flatMap((name) => stages.get(name)?.latencyMs ?? []);
    return own.length === names.length ? [Math.max(...own)] : [];
  });
  return {
    name: nameOf(names),
    recall: shareOf(queries, (query, id) => rankAt(query, names, id) !== null),
    lost: lossAt(lost, step),
    moved: before?.length === 1 ? movedBetween(hits(before), hits(names)) : null,
    ...timesOf(latencies),
  };
}

function answerStep(
  queries: readonly StagedQuery[],
  groups: readonly string[][],
  k: number,
  lost: readonly number[][],
): StageStep {
  const before = groups.at(-1);
  const isFound = ({ answer }: StagedQuery, id: string): boolean => (answer.get(id) ?? k + 1) <= k;
  const after = queries.map((query) => query.relevant.some((id) => isFound(query, id)));
  return {
    name: ANSWER,
    recall: shareOf(queries, isFound),
    lost: lossAt(lost, groups.length),
    moved:
      before?.length === 1
        ? movedBetween(
            queries.map((query) => isHit(query, before, k)),
            after,
          )
        : null,
    ...timesOf(queries.flatMap((query) => timeLeft(query, groups))),
  };
}

function isHit(query: StagedQuery, names: readonly string[], k: number): boolean {
  return query.relevant.some((id) => (rankAt(query, names, id) ?? k + 1) <= k);
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

/**
 * Returns how much of a response's time was spent outside all of its stages; undefined if a stage does not report its
 * time.
 */
function timeLeft({ stages, latencyMs, hasFailed }: StagedQuery, groups: readonly string[][]): number[] {
  if (latencyMs === null || hasFailed || stages.size === 0) return [];
  let left = latencyMs;
  for (const names of groups) {
    const own = names.map((name) => stages.get(name)?.latencyMs ?? null);
    if (own.includes(null)) return [];
    left -= Math.max(...own.map((one) => one ?? 0));
  }
  return [Math.max(0, left)];
}
