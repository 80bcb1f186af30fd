/**
 * What the stages of a retriever keep and lose of the relevant documents of a golden set. Shares are means over questions
 * of the share of their relevant documents, as recall is.
 */

import type { GoldenQuery } from '../../core/model.ts';
import { type MetricSummary, summarize } from '../../math/stats/descriptive.ts';
import { newcombePairedInterval } from '../../math/stats/intervals.ts';
import { mcnemarExact } from '../../math/stats/paired-tests.ts';
import {
  ANSWER,
  type AnsweredStage,
  type MovedQuestions,
  type QueryAnswer,
  type RunStages,
  type StageStep,
} from './run.ts';
import { documentOf } from './score-run.ts';

interface ToldStage {
  readonly name: string;
  readonly isSide?: boolean;
  readonly documents: readonly { readonly id: string }[];
  readonly latencyMs?: number;
}

/** @param chunkSeparator as the settings of the run have it */
export function answeredStages(
  { judgments }: Pick<GoldenQuery, 'judgments'>,
  stages: readonly ToldStage[],
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

/** What became of the relevant documents of one question. */
export interface StagedQuestion {
  /** Ids of the relevant documents. */
  readonly relevant: readonly string[];
  /** By name; empty where none is told. */
  readonly stages: ReadonlyMap<string, AnsweredStage>;
  /** Ranks of those that were answered, from 1. */
  readonly answer: ReadonlyMap<string, number>;
  readonly latencyMs: number | null;
  readonly hasFailed: boolean;
}

/**
 * Questions without a relevant document are left out.
 *
 * @param answers and stages, with documents named as in the judgments
 * @param stagesOf by the id of the query
 */
export function stagedQuestions(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  stagesOf: ReadonlyMap<string, readonly AnsweredStage[]>,
  relevanceLevel: number,
): StagedQuestion[] {
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

/** Null when no answer tells of a stage. */
export function summarizeStages(questions: readonly StagedQuestion[], k: number): RunStages | null {
  const told = questions.filter(({ stages, hasFailed }) => hasFailed || stages.size > 0);
  if (told.every(({ hasFailed }) => hasFailed)) return null;
  const groups = stepNames(told);
  const lost = told.map((question) => lossesOf(question, groups, k));
  const failed = told.map(({ hasFailed }) => (hasFailed ? 1 : 0));
  return {
    k,
    n: told.length,
    failed: told.filter(({ hasFailed }) => hasFailed).length,
    untold: questions.length - told.length,
    lostToFailures: summarize(failed, 'hit_rate'),
    steps: [
      ...groups.map((names, step) => stepOf(told, groups, names, step, k, lost)),
      answerStep(told, groups, k, lost),
    ],
  };
}

/** Share of its relevant documents that each step loses of each question, the answer last; what failed loses nothing to a step. */
export function lossesByStep(
  questions: readonly StagedQuestion[],
  k: number,
): { readonly names: readonly string[]; readonly losses: readonly (readonly number[])[] } {
  const groups = stepNames(questions);
  return {
    names: [...groups.map(nameOf), ANSWER],
    losses: questions.map((question) => lossesOf(question, groups, k)),
  };
}

const nameOf = (names: readonly string[]): string => names.join(' and ');

/** Names of each step, in the order of the answer that tells most; more than one where stages are beside each other. */
function stepNames(questions: readonly StagedQuestion[]): string[][] {
  const all = questions.map(({ stages }) => [...stages.values()]).toSorted((a, b) => b.length - a.length);
  const groups: { readonly isSide: boolean; readonly names: string[] }[] = [];
  for (const { name, isSide } of all.flat()) {
    if (groups.some(({ names }) => names.includes(name))) continue;
    const last = groups.at(-1);
    if (isSide && last?.isSide === true) last.names.push(name);
    else groups.push({ isSide, names: [name] });
  }
  return groups.map(({ names }) => names);
}

/** Best rank of a document in any of the stages of a step; null: none has it. */
function rankAt({ stages }: StagedQuestion, names: readonly string[], id: string): number | null {
  const ranks = names.flatMap((name) => stages.get(name)?.ranks[id] ?? []);
  return ranks.length === 0 ? null : Math.min(...ranks);
}

function lossesOf(question: StagedQuestion, groups: readonly string[][], k: number): number[] {
  const losses = [...groups, []].map(() => 0);
  if (question.hasFailed) return losses;
  for (const id of question.relevant) {
    if ((question.answer.get(id) ?? k + 1) <= k) continue;
    const step = groups.findLastIndex((names) => rankAt(question, names, id) !== null) + 1;
    losses[step] = (losses[step] ?? 0) + 1 / question.relevant.length;
  }
  return losses;
}

function stepOf(
  questions: readonly StagedQuestion[],
  groups: readonly string[][],
  names: readonly string[],
  step: number,
  k: number,
  lost: readonly number[][],
): StageStep {
  const before = groups[step - 1];
  const hits = (group: readonly string[]) => questions.map((question) => isHit(question, group, k));
  const latencies = questions.flatMap(({ stages }) => {
    const own = names.flatMap((name) => stages.get(name)?.latencyMs ?? []);
    return own.length === names.length ? [Math.max(...own)] : [];
  });
  return {
    name: nameOf(names),
    recall: shareOf(questions, (question, id) => rankAt(question, names, id) !== null),
    lost: lossAt(lost, step),
    moved: before?.length === 1 ? movedBetween(hits(before), hits(names)) : null,
    ...timesOf(latencies),
  };
}

function answerStep(
  questions: readonly StagedQuestion[],
  groups: readonly string[][],
  k: number,
  lost: readonly number[][],
): StageStep {
  const before = groups.at(-1);
  const isFound = ({ answer }: StagedQuestion, id: string): boolean => (answer.get(id) ?? k + 1) <= k;
  const after = questions.map((question) => question.relevant.some((id) => isFound(question, id)));
  return {
    name: ANSWER,
    recall: shareOf(questions, isFound),
    lost: lossAt(lost, groups.length),
    moved:
      before?.length === 1
        ? movedBetween(
            questions.map((question) => isHit(question, before, k)),
            after,
          )
        : null,
    ...timesOf(questions.flatMap((question) => timeLeft(question, groups))),
  };
}

function isHit(question: StagedQuestion, names: readonly string[], k: number): boolean {
  return question.relevant.some((id) => (rankAt(question, names, id) ?? k + 1) <= k);
}

function shareOf(
  questions: readonly StagedQuestion[],
  has: (question: StagedQuestion, id: string) => boolean,
): MetricSummary {
  const shares = questions.map(
    (question) => question.relevant.filter((id) => has(question, id)).length / question.relevant.length,
  );
  return summarize(shares, 'recall');
}

function lossAt(lost: readonly number[][], step: number): MetricSummary {
  return summarize(
    lost.map((losses) => Math.min(1, losses[step] ?? 0)),
    'recall',
  );
}

function movedBetween(before: readonly boolean[], after: readonly boolean[]): MovedQuestions {
  const count = (was: boolean, is: boolean) =>
    before.filter((hit, question) => hit === was && after[question] === is).length;
  const [came, went] = [count(false, true), count(true, false)];
  const hits = { both: count(true, true), onlyBaseline: went, onlyCandidate: came, neither: count(false, false) };
  const { low, high } = newcombePairedInterval(hits, 0.95);
  const difference = (came - went) / before.length;
  const bounds = { ciLow: Math.min(low, difference), ciHigh: Math.max(high, difference) };
  return { in: came, out: went, difference, ...bounds, p: mcnemarExact(went, came).p };
}

function timesOf(latencies: readonly number[]): Pick<StageStep, 'latencyP95Ms' | 'timed'> {
  const sorted = latencies.toSorted((a, b) => a - b);
  return { latencyP95Ms: sorted[Math.ceil(0.95 * sorted.length) - 1] ?? null, timed: sorted.length };
}

/** What an answer took beyond all of its stages; nothing where one of them does not tell. */
function timeLeft({ stages, latencyMs, hasFailed }: StagedQuestion, groups: readonly string[][]): number[] {
  if (latencyMs === null || hasFailed || stages.size === 0) return [];
  let left = latencyMs;
  for (const names of groups) {
    const own = names.map((name) => stages.get(name)?.latencyMs ?? null);
    if (own.includes(null)) return [];
    left -= Math.max(...own.map((one) => one ?? 0));
  }
  return [Math.max(0, left)];
}
