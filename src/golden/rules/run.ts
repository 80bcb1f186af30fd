/** A golden run: its settings, status and results, and the result of each query. */

import type { QueryOutcome, RetrievedDocument, RunStatus } from '../../core/model.ts';
import type { ContextSize } from '../../core/text/context-size.ts';
import type { Measure } from '../../math/ir/metric-key.ts';
import type { MetricSummary } from '../../math/stats/descriptive.ts';

/** The ranks of a query's judged documents in one stage. They are stored with the answer instead of the full list. */
export interface AnsweredStage {
  readonly name: string;
  /** True if the stage ran in parallel with others, whose results were then merged. */
  readonly isSide: boolean;
  /** Number of distinct documents. */
  readonly documents: number;
  /** Time of this stage alone; null if the retriever does not report it. */
  readonly latencyMs: number | null;
  /** Ranks, from 1, of the judged documents in the stage, each document counted once. */
  readonly ranks: Readonly<Record<string, number>>;
}

/** The last step: the returned results, truncated at k. */
export const ANSWER = 'answer';

/** A stage, several parallel stages as one, or the final results. */
export interface StageStep {
  /** `words and vectors` for two parallel stages. */
  readonly name: string;
  /** Relevant documents that the step passes on; for the final results, relevant documents in the first k. */
  readonly recall: MetricSummary;
  /**
   * Relevant documents that the previous step had and neither this step nor a later one has; for the first step,
   * documents that it never finds.
   */
  readonly lost: MetricSummary;
  /**
   * Queries that this step moved into or out of a hit in the first k; null for the first step, and after parallel
   * stages.
   */
  readonly moved: MovedQueries | null;
  /** p95 of the stage's own time, over the answers that report it; null if no answer does. */
  readonly latencyP95Ms: number | null;
  readonly timed: number;
}

export interface MovedQueries {
  /** Queries that have no relevant document among the first k before this step, but have one after it. */
  readonly in: number;
  readonly out: number;
  /** Change of the hit rate in this step, with its interval (Newcombe). */
  readonly difference: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Two-sided p-value of the difference (McNemar, exact). */
  readonly p: number;
}

export interface RunStages {
  readonly k: number;
  /** Queries with a relevant document whose answers report stages, and failed queries, which count as lost. */
  readonly n: number;
  /** Number of failed queries among these. */
  readonly failed: number;
  /** Number of excluded queries whose answers report no stage. */
  readonly unreported: number;
  /** Share of relevant documents whose query failed. Sums to 1 with the losses of all steps and the documents found. */
  readonly lostToFailures: MetricSummary;
  /** Steps in order of execution. The final results come last. */
  readonly steps: readonly StageStep[];
}

/**
 * Number of queries per batch: few enough that the loss of a batch is cheap, and many enough to justify a queue
 * message.
 */
export const BATCH_QUERIES = 50;

/** Settings of a run, which are stored with it so that its scores remain interpretable for years. */
export interface RunSettings {
  /** Cut-offs of every measure; the largest cut-off is requested from the retriever. */
  readonly cutoffs: readonly number[];
  readonly relevanceLevel: number;
  /** Additional measures beyond the measures of every run; absent in runs from before recalld supported gains. */
  readonly gains?: readonly GainMeasure[];
  readonly concurrency: number;
  readonly maxPerSecond: number;
  readonly onError: 'score_zero' | 'void';
  /** Share of failed queries above which the run becomes `void`. */
  readonly errorBudget: number;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Absent in runs from before recalld supported queries without an answer. */
  readonly noAnswer?: NoAnswerLimits;
  /** Separator after the document id in chunk ids, in results and judgments; if absent, ids are compared unchanged. */
  readonly chunkSeparator?: string;
}

/** Limits within which the results of a query without an answer count as empty. */
export interface NoAnswerLimits {
  /** Only documents with a higher score count; if null, all documents count. */
  readonly maxScore: number | null;
  readonly maxResults: number;
}

/** Sums of gains, which have no upper bound; scored only if the config requests them. */
export const gainMeasures = ['cg', 'dcg'] as const satisfies readonly Measure[];

export type GainMeasure = (typeof gainMeasures)[number];

/** Cut-offs for a golden set that is run manually and is not in the config. */
export const defaultCutoffs: readonly number[] = [1, 3, 5, 10];

export interface QueryAnswer {
  readonly queryId: string;
  readonly outcome: QueryOutcome;
  readonly documents: readonly RetrievedDocument[];
  /** Size of the texts of all documents; absent if the retriever returns no texts, and when read from storage. */
  readonly context?: ContextSize;
  /** Stages of the answer; absent if the retriever reports none, and when read from storage. */
  readonly stages?: readonly AnsweredStage[];
  readonly latencyMs: number | null;
  readonly attempts: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

export type OutcomeCounts = Readonly<Record<QueryOutcome, number>>;

/** Mean of a measure over the queries in a segment, with its interval. */
export interface SegmentScore extends MetricSummary {
  readonly segment: string;
  readonly measure: Measure;
  readonly k: number;
}

/** Minimum share of failed queries at which a run reports retriever errors. */
export const ERRORS_SHARE = 0.05;

/** Minimum share of failed queries at which a run reports an outage. */
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

/** `full`: every query of the set; `sentinel`: a few representative queries, between two full runs. */
export type RunPurpose = 'full' | 'sentinel';

export interface NewRun {
  readonly id: string;
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly goldenSetVersion: number;
  readonly purpose: RunPurpose;
  /** `sentinel`: a full run that a failed sentinel started. */
  readonly trigger: 'schedule' | 'manual' | 'sentinel';
  /** A sentence that states why the run is outside its schedule. */
  readonly cause: string | null;
  /** Ids of the queries to run; null for the whole set. */
  readonly queryIds: readonly string[] | null;
  /**
   * The tick that started the run. There is one run per pipeline, set, purpose, version and tick; null for all other
   * runs.
   */
  readonly scheduledFor: Date | null;
  readonly settings: RunSettings;
  readonly startedAt: Date;
  /** A run that is still running after this time is marked failed. */
  readonly deadlineAt: Date;
}

export interface GoldenRun extends NewRun {
  readonly status: RunStatus;
  readonly finishedAt: Date | null;
  readonly queriesTotal: number;
  /** A sentence that states why a run is void or failed. */
  readonly reason: string | null;
  /** Sentences about likely mistakes in the config or the set, based on the results. */
  readonly warnings: readonly string[];
  /** Fingerprints at the end of the run, by component, such as the store and the embedder. */
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly labels: RunLabels;
  /** Test of forbidden documents; null if the set forbids none, or if the run did not test them. */
  readonly forbidden: ForbiddenCounts | null;
  /** Test of unanswerable queries; null if every query in the set has an answer, or if the run did not test this. */
  readonly noAnswer: NoAnswerResults | null;
  /** Measures of the retriever's stages; null if the retriever reports none, or if the run did not complete. */
  readonly stages: RunStages | null;
  /** When its results were deleted after the retention time (`keep_answers`); null while they exist. */
  readonly answersDeletedAt: Date | null;
}

/**
 * Number of judged documents that were looked up in the store, and the numbers of missing documents by reason. The
 * numbers are null without a probe.
 */
export interface RunLabels {
  readonly probed: number | null;
  /** Superseded documents: their judgments are out of date. */
  readonly stale: number | null;
  /** Documents that are missing without a replacement, so that retrieval became worse. */
  readonly lost: number | null;
  /** Queries whose relevant documents are all superseded. */
  readonly deadQueries: number | null;
  /** A sentence that states why the store could not be probed. */
  readonly gap: string | null;
}

/** Number of queries that a run tested for forbidden documents. */
export interface ForbiddenCounts {
  /** Queries with forbidden documents that were answered. */
  readonly asked: number;
  /** Queries with forbidden documents that failed. */
  readonly failed: number;
  /** Results that could not be confirmed because the second request failed. */
  readonly unconfirmed: number;
}

/** Documents returned above the limits for a query without an answer. */
export interface FalseAnswer {
  readonly query: string;
  /** Number of documents above `maxScore`. */
  readonly documents: number;
  /** The highest score of these documents; null if the retriever returns no scores. */
  readonly score: number | null;
}

/** Results of a run for queries without an answer. */
export interface NoAnswerResults {
  /** Number of unanswerable queries, including failed queries. */
  readonly asked: number;
  /** Number of failed queries: an error is not an empty result. */
  readonly failed: number;
  readonly answered: number;
  /** The worst false answers, most documents first, then by id; at most fifty. */
  readonly worst: readonly FalseAnswer[];
}

const MIN_MS = 600_000;
/** Maximum duration of a Node.js timer: 24 days. */
const MAX_MS = 2 ** 31 - 1;

/**
 * Returns how long a run may take before it counts as failed, in milliseconds. This is three times the minimum time
 * under the rate limit, plus the time if every request times out once; at least ten minutes and at most 24 days.
 */
export function runDeadlineMs(requests: number, settings: RunSettings, timeoutMs: number): number {
  const atRateLimit = (requests / settings.maxPerSecond) * 1000;
  const timedOut = Math.ceil(requests / settings.concurrency) * timeoutMs;
  return Math.min(MAX_MS, Math.max(MIN_MS, 3 * atRateLimit + timedOut));
}
