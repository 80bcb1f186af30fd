/** A golden run: its settings, status and results, and the answer to each query. */

import type { QueryOutcome, RetrievedDocument, RunStatus } from '../../core/model.ts';
import type { ContextSize } from '../../core/text/context-size.ts';
import type { Measure } from '../../math/ir/metric-key.ts';
import type { MetricSummary } from '../../math/stats/descriptive.ts';

/** The ranks of a query's judged documents in one stage; stored with the answer in place of the full list. */
export interface AnsweredStage {
  readonly name: string;
  /** True if it ran in parallel with others, whose results were then merged. */
  readonly isSide: boolean;
  /** Number of distinct documents. */
  readonly documents: number;
  /** Time of this stage alone; null when the retriever does not report it. */
  readonly latencyMs: number | null;
  /** Ranks, from 1, of the judged documents that it had, each document counted once. */
  readonly ranks: Readonly<Record<string, number>>;
}

/** The last step: the returned results, cut off at k. */
export const ANSWER = 'answer';

/** A stage, several parallel stages as one, or the answer itself. */
export interface StageStep {
  /** `words and vectors` for two parallel stages. */
  readonly name: string;
  /** Relevant documents among all that it passes on; for the answer, among its first k. */
  readonly recall: MetricSummary;
  /** Relevant documents that the step before had and neither this step nor a later one has; for the first, those it never finds. */
  readonly lost: MetricSummary;
  /** Queries that this step moved into or out of a hit in the first k; null for the first step, and after parallel stages. */
  readonly moved: MovedQueries | null;
  /** p95 of the stage's own time, over the answers that report it; null when none does. */
  readonly latencyP95Ms: number | null;
  readonly timed: number;
}

export interface MovedQueries {
  /** Queries without a relevant document among the first k before this step, and with one after it. */
  readonly in: number;
  readonly out: number;
  /** Hit rate after minus before, with its interval (Newcombe). */
  readonly difference: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Two-sided p that the difference is chance (McNemar, exact). */
  readonly p: number;
}

export interface RunStages {
  readonly k: number;
  /** Queries with a relevant document whose answers report stages, and failed ones, which count as lost. */
  readonly n: number;
  /** Number of failed queries among these. */
  readonly failed: number;
  /** Number of excluded queries whose answers report no stage. */
  readonly unreported: number;
  /** Share of relevant documents whose query failed. It sums to 1 with the losses of all steps and what is found. */
  readonly lostToFailures: MetricSummary;
  /** In the order of execution, the answer last. */
  readonly steps: readonly StageStep[];
}

/** Queries per batch: few enough that losing a batch is cheap, many enough to justify a message in the queue. */
export const BATCH_QUERIES = 50;

/** Stored with the run, so that its scores stay interpretable for years. */
export interface RunSettings {
  /** Cut-offs of every measure; the retriever is asked for the largest one. */
  readonly cutoffs: readonly number[];
  readonly relevanceLevel: number;
  /** Extra measures beside those of every run; absent in runs from before they existed. */
  readonly gains?: readonly GainMeasure[];
  readonly concurrency: number;
  readonly maxPerSecond: number;
  readonly onError: 'score_zero' | 'void';
  /** Share of failed queries above which `void` voids the run. */
  readonly errorBudget: number;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Absent in runs from before queries without an answer existed. */
  readonly noAnswer?: NoAnswerLimits;
  /** Separator that ends the document id in chunk ids, in answers and judgments; absent: ids are compared as they are. */
  readonly chunkSeparator?: string;
}

/** Limits within which the answer to a query without one counts as empty. */
export interface NoAnswerLimits {
  /** Documents with a higher score count; null: all count. */
  readonly maxScore: number | null;
  readonly maxResults: number;
}

/** Sums of gains, which have no upper bound; scored only if the config asks for them. */
export const gainMeasures = ['cg', 'dcg'] as const satisfies readonly Measure[];

export type GainMeasure = (typeof gainMeasures)[number];

/** Cut-offs of a golden set that is run manually and not in the config. */
export const defaultCutoffs: readonly number[] = [1, 3, 5, 10];

export interface QueryAnswer {
  readonly queryId: string;
  readonly outcome: QueryOutcome;
  readonly documents: readonly RetrievedDocument[];
  /** Size of the texts of all documents; absent when the retriever returns no texts, and when read back. */
  readonly context?: ContextSize;
  /** Absent when the retriever reports none, and when read back. */
  readonly stages?: readonly AnsweredStage[];
  readonly latencyMs: number | null;
  readonly attempts: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

export type OutcomeCounts = Readonly<Record<QueryOutcome, number>>;

/** Mean of a measure over the queries of a segment, with its interval. */
export interface SegmentScore extends MetricSummary {
  readonly segment: string;
  readonly measure: Measure;
  readonly k: number;
}

/** Share of failed queries from which on a run reports that the retriever fails some. */
export const ERRORS_SHARE = 0.05;

/** Share of failed queries from which on a run reports an outage. */
export const OUTAGE_SHARE = 0.5;

/** Explains why a failed run has no results. */
export function failureSentence(runId: string | null, reason: string | null): string {
  return `The run ${runId} failed: ${reason ?? 'no reason was recorded.'}`;
}

/** Returns the share of failed queries, 0..1; 0 for no queries. */
export function failedShare(outcomes: OutcomeCounts): number {
  const failed = outcomes.error + outcomes.timeout;
  const total = failed + outcomes.ok + outcomes.empty;
  return total === 0 ? 0 : failed / total;
}

/** `full`: every query of the set; `sentinel`: a few representative ones, between two full runs. */
export type RunPurpose = 'full' | 'sentinel';

export interface NewRun {
  readonly id: string;
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly goldenSetVersion: number;
  readonly purpose: RunPurpose;
  /** `sentinel`: a full run that a failed sentinel started. */
  readonly trigger: 'schedule' | 'manual' | 'sentinel';
  /** One sentence that says why it runs outside its schedule. */
  readonly cause: string | null;
  /** The queries to ask; null for all of the set. */
  readonly queryIds: readonly string[] | null;
  /** The tick that started it: one run per pipeline, set, purpose, version and tick. Null for all others. */
  readonly scheduledFor: Date | null;
  readonly settings: RunSettings;
  readonly startedAt: Date;
  /** A run that is still running after this is marked failed. */
  readonly deadlineAt: Date;
}

export interface GoldenRun extends NewRun {
  readonly status: RunStatus;
  readonly finishedAt: Date | null;
  readonly queriesTotal: number;
  /** One sentence that says why a run is void or failed. */
  readonly reason: string | null;
  /** Sentences about likely mistakes of the config or of the set, as its answers show them. */
  readonly warnings: readonly string[];
  /** Fingerprints of the store, the embedder and so on when the run ended, by part. */
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly labels: RunLabels;
  /** Null when the set forbids no documents, or the run did not test them. */
  readonly forbidden: ForbiddenCounts | null;
  /** Null when every query of the set has an answer, or the run did not test this. */
  readonly noAnswer: NoAnswerResults | null;
  /** Null when the retriever reports no stages, or the run did not complete. */
  readonly stages: RunStages | null;
  /** When its answers were deleted after the retention time (`keep_answers`); null while they exist. */
  readonly answersDeletedAt: Date | null;
}

/** How many judged documents were looked up in the store, and why some are missing; nulls without a probe. */
export interface RunLabels {
  readonly probed: number | null;
  /** Superseded documents: the judgment is out of date. */
  readonly stale: number | null;
  /** Documents missing without a replacement: retrieval got worse. */
  readonly lost: number | null;
  /** Queries whose every relevant document is superseded. */
  readonly deadQueries: number | null;
  /** One sentence that says why the store could not be probed. */
  readonly gap: string | null;
}

/** How many queries a run tested for forbidden documents. */
export interface ForbiddenCounts {
  /** Queries with forbidden documents that were answered. */
  readonly asked: number;
  /** Queries with forbidden documents that failed. */
  readonly failed: number;
  /** Results that could not be confirmed because the second request failed. */
  readonly unconfirmed: number;
}

/** The documents returned for a query without an answer, above the limits. */
export interface FalseAnswer {
  readonly query: string;
  /** Documents above `maxScore`. */
  readonly documents: number;
  /** The highest of their scores; null when the retriever returns none. */
  readonly score: number | null;
}

/** Results of a run for the queries without an answer. */
export interface NoAnswerResults {
  /** All of them, failed ones included. */
  readonly asked: number;
  /** Failed queries: an error is not an empty answer. */
  readonly failed: number;
  readonly answered: number;
  /** The worst false answers, most documents first, then by id; at most fifty. */
  readonly worst: readonly FalseAnswer[];
}

const MIN_MS = 600_000;
/** The longest that a timer of Node.js can wait, 24 days. */
const MAX_MS = 2 ** 31 - 1;

/**
 * Returns how long a run may take before it counts as failed, in milliseconds: three times the minimum time by the rate
 * limit, plus every query timing out once; at least ten minutes and at most 24 days.
 */
export function runDeadlineMs(queries: number, settings: RunSettings, timeoutMs: number): number {
  const atRateLimit = (queries / settings.maxPerSecond) * 1000;
  const timedOut = Math.ceil(queries / settings.concurrency) * timeoutMs;
  return Math.min(MAX_MS, Math.max(MIN_MS, 3 * atRateLimit + timedOut));
}
