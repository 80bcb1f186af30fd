/** A golden run: how it asks and scores, how long it may take, what became of it and of each query. */

import type { QueryOutcome, RetrievedDocument, RunStatus } from '../../core/model.ts';
import type { ContextSize } from '../../core/text/context-size.ts';
import type { Measure } from '../../math/ir/metric-key.ts';
import type { MetricSummary } from '../../math/stats/descriptive.ts';

/** What one stage had of a question; kept with its answer in place of the whole list. */
export interface AnsweredStage {
  readonly name: string;
  /** One of several beside each other, which are joined after it. */
  readonly isSide: boolean;
  /** Different documents. */
  readonly documents: number;
  /** Its own time; null where nobody tells. */
  readonly latencyMs: number | null;
  /** Ranks from 1 of the judged documents that it had, each document counted once. */
  readonly ranks: Readonly<Record<string, number>>;
}

/** The last step: what the retriever answers, cut off at k. */
export const ANSWER = 'answer';

/** A stage, those beside each other as one, or the answer itself. */
export interface StageStep {
  /** `words and vectors` for two beside each other. */
  readonly name: string;
  /** Relevant documents among all that it hands on; of the answer, among its first k. */
  readonly recall: MetricSummary;
  /** Relevant documents that the step before had and neither this one nor a later one has; of the first, that it never finds. */
  readonly lost: MetricSummary;
  /** Questions by whether the first k hold a relevant document, after this step and before; null for the first, and after several beside each other. */
  readonly moved: MovedQuestions | null;
  /** Its own time, of the answers that tell it; null where none does. */
  readonly latencyP95Ms: number | null;
  readonly timed: number;
}

export interface MovedQuestions {
  /** That had no relevant document among the first k before this step, and have one after it. */
  readonly in: number;
  readonly out: number;
  /** Hit rate after less before, with its bounds (Newcombe). */
  readonly difference: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** That it is luck, two-sided (McNemar, exact). */
  readonly p: number;
}

export interface RunStages {
  readonly k: number;
  /** Questions with a relevant document whose answers tell of stages, and those that failed, which count as lost. */
  readonly n: number;
  /** Of these the failed. */
  readonly failed: number;
  /** Answered without a word of any stage, and left out. */
  readonly untold: number;
  /** Share of the relevant documents whose question failed. With what is lost at each step and found, it makes 1. */
  readonly lostToFailures: MetricSummary;
  /** In the order in which they work, the answer last. */
  readonly steps: readonly StageStep[];
}

/** Queries of a batch: few enough to be lost without pain, enough to be worth the way through the queue. */
export const BATCH_QUERIES = 50;

/** Stored with the run, so that its numbers can be read years later. */
export interface RunSettings {
  /** Cut-offs of every measure; the retriever is asked for the largest. */
  readonly cutoffs: readonly number[];
  readonly relevanceLevel: number;
  /** Scored beside the measures of every run; left out by runs that were stored before there were any. */
  readonly gains?: readonly GainMeasure[];
  readonly concurrency: number;
  readonly maxPerSecond: number;
  readonly onError: 'score_zero' | 'void';
  /** Share of failed queries above which `void` voids the run. */
  readonly errorBudget: number;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Left out by runs that were stored before there were questions without an answer. */
  readonly noAnswer?: NoAnswerLimits;
  /** Ids of chunks are cut before it, in answers and judgments; left out, they are taken as they are. */
  readonly chunkSeparator?: string;
}

/** Up to which an answer to a question without one is right. */
export interface NoAnswerLimits {
  /** Documents that score higher count; null: all do. */
  readonly maxScore: number | null;
  readonly maxResults: number;
}

/** Sums of gains: without an upper bound, and scored only where the config asks for them. */
export const gainMeasures = ['cg', 'dcg'] as const satisfies readonly Measure[];

export type GainMeasure = (typeof gainMeasures)[number];

/** What a golden set is scored at that is run by hand and not named in the config. */
export const defaultCutoffs: readonly number[] = [1, 3, 5, 10];

export interface QueryAnswer {
  readonly queryId: string;
  readonly outcome: QueryOutcome;
  readonly documents: readonly RetrievedDocument[];
  /** Of the texts of all documents; left out where the retriever did not give them, and when read back. */
  readonly context?: ContextSize;
  /** Left out where the retriever tells of none, and when read back. */
  readonly stages?: readonly AnsweredStage[];
  readonly latencyMs: number | null;
  readonly attempts: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

export type OutcomeCounts = Readonly<Record<QueryOutcome, number>>;

/** Mean of a measure over the queries of a segment, with its bounds. */
export interface SegmentScore extends MetricSummary {
  readonly segment: string;
  readonly measure: Measure;
  readonly k: number;
}

/** From this share of failed queries on, a run says that the retriever fails some. */
export const ERRORS_SHARE = 0.05;

/** And from this on that it does not answer. */
export const OUTAGE_SHARE = 0.5;

/** Why nothing is known by a run that failed. */
export function failureSentence(runId: string | null, reason: string | null): string {
  return `The run ${runId} failed: ${reason ?? 'no reason was stored.'}`;
}

/** Share of queries that the retriever failed, 0..1; 0 for no queries. */
export function failedShare(outcomes: OutcomeCounts): number {
  const failed = outcomes.error + outcomes.timeout;
  const total = failed + outcomes.ok + outcomes.empty;
  return total === 0 ? 0 : failed / total;
}

/** `full`: every query of the set; `sentinel`: a few that stand for it between two full runs. */
export type RunPurpose = 'full' | 'sentinel';

export interface NewRun {
  readonly id: string;
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly goldenSetVersion: number;
  readonly purpose: RunPurpose;
  /** `sentinel`: a full run that a fallen sentinel asked for. */
  readonly trigger: 'schedule' | 'manual' | 'sentinel';
  /** Why it runs outside its schedule, one sentence. */
  readonly cause: string | null;
  /** The queries that are asked; null for all of the set. */
  readonly queryIds: readonly string[] | null;
  /** The tick that asked for it; one run per pipeline, set, purpose, version and tick. Null for all others. */
  readonly scheduledFor: Date | null;
  readonly settings: RunSettings;
  readonly startedAt: Date;
  /** A run that is still running after this is failed. */
  readonly deadlineAt: Date;
}

export interface GoldenRun extends NewRun {
  readonly status: RunStatus;
  readonly finishedAt: Date | null;
  readonly queriesTotal: number;
  /** Why a run is void or failed, one sentence. */
  readonly reason: string | null;
  /** What its answers show to be a mistake of the config or of the set, one sentence each. */
  readonly doubts: readonly string[];
  /** What the store and the embedder were made of when it ended, by part. */
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly labels: RunLabels;
  /** Null when the set forbids nothing, or nobody looked. */
  readonly forbidden: ForbiddenCounts | null;
  /** Null when every question of the set has an answer, or nobody looked. */
  readonly noAnswer: NoAnswerResults | null;
  /** Null when its retriever tells of no stages, or it did not complete. */
  readonly stages: RunStages | null;
  /** When its answers were deleted because they were old (`keep_answers`); null while they are there. */
  readonly answersGoneAt: Date | null;
}

/** How many judged documents were looked up in the store, and what became of those that are gone; nulls without a probe. */
export interface RunLabels {
  readonly probed: number | null;
  /** Superseded: the judgment is out of date. */
  readonly stale: number | null;
  /** Gone without anything in their place: retrieval is worse. */
  readonly lost: number | null;
  /** Queries whose every relevant document is superseded. */
  readonly deadQueries: number | null;
  /** Why nobody could look, one sentence. */
  readonly gap: string | null;
}

/** How many queries a run asked for their forbidden documents. */
export interface ForbiddenCounts {
  /** Queries with forbidden documents that were answered. */
  readonly asked: number;
  /** Queries with forbidden documents that the retriever failed. */
  readonly failed: number;
  /** Results whose second asking failed, so that nobody knows. */
  readonly unconfirmed: number;
}

/** What a question without an answer brought, above the limits. */
export interface FalseAnswer {
  readonly query: string;
  /** Documents above `maxScore`. */
  readonly documents: number;
  /** The highest of their scores; null when the retriever gives none. */
  readonly score: number | null;
}

/** What a run found of the questions without an answer of its set. */
export interface NoAnswerResults {
  /** All of them, also those that failed. */
  readonly asked: number;
  /** The retriever failed them: an error is no empty answer. */
  readonly failed: number;
  readonly answered: number;
  /** Of those that were answered the worst, most documents first, then by id; fifty at most. */
  readonly worst: readonly FalseAnswer[];
}

const MIN_MS = 600_000;
/** The longest that a timer of Node.js can wait, 24 days. */
const MAX_MS = 2 ** 31 - 1;

/**
 * How long a run may take before it counts as failed, in milliseconds: three times what the rate limit alone needs,
 * plus every query timing out once; never under ten minutes and never over 24 days.
 */
export function runDeadlineMs(queries: number, settings: RunSettings, timeoutMs: number): number {
  const paced = (queries / settings.maxPerSecond) * 1000;
  const timedOut = Math.ceil(queries / settings.concurrency) * timeoutMs;
  return Math.min(MAX_MS, Math.max(MIN_MS, 3 * paced + timedOut));
}
