import type { QueryOutcome, RetrievedDocument, RunStatus } from '../../core/model.ts';
import type { ContextSize } from '../../core/text/context-size.ts';
import type { Measure } from '../../math/ir/metric-key.ts';
import type { MetricSummary } from '../../math/stats/descriptive.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';

/** Ranks of a query's judged documents in one stage. Runs store these ranks instead of the full list. */
export interface AnsweredStage {
  readonly name: string;
  /** True if the stage is one of several parallel stages whose results were then merged. */
  readonly isSide: boolean;
  /** Number of distinct documents. */
  readonly documents: number;
  /** Duration of this stage alone; null if the retriever does not report it. */
  readonly latencyMs: number | null;
  /** Ranks, from 1, of the judged documents in the stage, each document counted once. */
  readonly ranks: Readonly<Record<string, number>>;
}

/** Name of the last step, which consists of the final results, truncated at k. */
export const ANSWER = 'answer';

/** One stage, one group of parallel stages, or the final results. */
export interface StageStep {
  /** For parallel stages, their names joined by `and`, such as `words and vectors`. */
  readonly name: string;
  /** Share of relevant documents that the step passes on; for the final results, the share in the top k. */
  readonly recall: MetricSummary;
  /**
   * Share of relevant documents that are lost in this step, because the previous step is the last step that returns
   * them. For the first step, the share of relevant documents that no step returns.
   */
  readonly lost: MetricSummary;
  /**
   * Numbers of queries that gained or lost a hit in the top k in this step; null for the first step, and for a step
   * that follows parallel stages.
   */
  readonly moved: MovedQueries | null;
  /** 95th percentile of the duration of this stage alone, over the responses that report it; null if none does. */
  readonly latencyP95Ms: number | null;
  readonly timed: number;
}

export interface MovedQueries {
  /** Number of queries without a relevant document in the top k before this step, but with one after it. */
  readonly in: number;
  readonly out: number;
  /** Change in the hit rate in this step. */
  readonly difference: number;
  /** Lower bound of the 95 % confidence interval of the change (Newcombe). */
  readonly ciLow: number;
  /** Upper bound of the 95 % confidence interval of the change. */
  readonly ciHigh: number;
  /** Two-sided p-value of the difference (McNemar, exact). */
  readonly p: number;
}

export interface RunStages {
  readonly k: number;
  /**
   * Number of queries that have a relevant document and whose responses report stages, plus the number of failed
   * queries; the relevant documents of failed queries count as lost.
   */
  readonly n: number;
  /** Number of failed queries in `n`. */
  readonly failed: number;
  /** Number of queries that are excluded because their responses report no stage. */
  readonly unreported: number;
  /**
   * Mean share of relevant documents that were not found because their query failed. This share, the losses of all
   * steps and the share of documents in the final results add up to 1.
   */
  readonly lostToFailures: MetricSummary;
  /** Steps in order of execution; the final results come last. */
  readonly steps: readonly StageStep[];
}

/**
 * Number of queries per batch. A batch is small enough that its loss costs little, and large enough to justify a
 * message in the queue.
 */
export const BATCH_QUERIES = 50;

/** Settings of a run, which are stored with the run so that its scores can still be interpreted years later. */
export interface RunSettings {
  /** Cutoffs of every measure; the largest is the number of documents that recalld requests from the retriever. */
  readonly cutoffs: readonly number[];
  readonly relevanceLevel: number;
  /** Sums of gains that the config requests; absent in runs that predate support for gains. */
  readonly gains?: readonly GainMeasure[];
  readonly concurrency: number;
  readonly maxPerSecond: number;
  readonly onError: 'score_zero' | 'void';
  /** Share of failed queries above which the run becomes `void`. */
  readonly errorBudget: number;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Absent in runs that predate support for unanswerable queries. */
  readonly noAnswer?: NoAnswerLimits;
  /** Separator that ends the document id in a chunk id; if absent, the ids in results and judgments are not split. */
  readonly chunkSeparator?: string;
}

/** Limits up to which the results of an unanswerable query count as empty. */
export interface NoAnswerLimits {
  /** Documents with a higher score, or without a score, count; if null, all documents count. */
  readonly maxScore: number | null;
  readonly maxResults: number;
}

/** Sums of gains, which have no upper bound; scored only if the config requests them. */
export const gainMeasures = ['cg', 'dcg'] as const satisfies readonly Measure[];

export type GainMeasure = (typeof gainMeasures)[number];

/** Cutoffs for a golden set that is run manually and is not in the config. */
export const defaultCutoffs: readonly number[] = [1, 3, 5, 10];

/** Size of the texts that the retriever returned for a query. */
export interface QueryContext extends ContextSize {
  readonly queryId: string;
}

export interface QueryAnswer {
  readonly queryId: string;
  readonly outcome: QueryOutcome;
  readonly documents: readonly RetrievedDocument[];
  /**
   * Size of the texts of all documents; absent if the retriever returns no texts, or if the results come from storage.
   */
  readonly context?: ContextSize;
  /** Stages that the response reports; absent if it reports none, or if the results come from storage. */
  readonly stages?: readonly AnsweredStage[];
  readonly latencyMs: number | null;
  readonly attempts: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/** True if the retriever responded, with or without documents. */
export function isAnswered(answer: Pick<QueryAnswer, 'outcome'> | undefined): boolean {
  return answer?.outcome === 'ok' || answer?.outcome === 'empty';
}

export type OutcomeCounts = Readonly<Record<QueryOutcome, number>>;

export interface SegmentScore extends MetricSummary {
  readonly segment: string;
  readonly measure: Measure;
  readonly k: number;
}

/** Minimum share of failed queries for a run to report retriever errors. */
export const ERRORS_SHARE = 0.05;

/** Minimum share of failed queries for a run to report an outage. */
export const OUTAGE_SHARE = 0.5;

export function failureSentence(runId: string | null, reason: string | null): string {
  return `The run ${runId} failed: ${reason ?? 'no reason was recorded.'}`;
}

/** Returns the share of failed queries, 0..1; 0 if there are no queries. */
export function failedShare(outcomes: OutcomeCounts): number {
  const failed = outcomes.error + outcomes.timeout;
  const total = failed + outcomes.ok + outcomes.empty;
  return total === 0 ? 0 : failed / total;
}

/** Returns a share of n queries with its 95 % CI (Wilson). */
export function boundedShare(value: number, n: number) {
  const { low, high } = wilsonInterval(value, n, 0.95);
  return { value, ciLow: Math.min(low, value), ciHigh: Math.max(high, value), ciMethod: 'wilson' as const, n };
}

/** `full`: every query of the set; `sentinel`: a few representative queries, between two full runs. */
export type RunPurpose = 'full' | 'sentinel';

/** Reason for a run, and the queries that the run covers. */
export interface RunReason {
  readonly purpose: RunPurpose;
  /** The trigger of the run. `sentinel`: a failed sentinel started this full run. */
  readonly trigger: 'schedule' | 'manual' | 'sentinel';
  /** Explains in one sentence why the run was started outside its schedule. */
  readonly cause: string | null;
  /** Ids of the queries to run; null for the whole set. */
  readonly queryIds: readonly string[] | null;
  /**
   * Scheduled time of the tick that started the run; null if no tick started it. At most one run exists per pipeline,
   * set, purpose, version and tick.
   */
  readonly scheduledFor: Date | null;
}

export interface NewRun extends RunReason {
  readonly id: string;
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly goldenSetVersion: number;
  readonly settings: RunSettings;
  readonly startedAt: Date;
  /** A run that is still running after this time is marked as failed. */
  readonly deadlineAt: Date;
}

export interface GoldenRun extends NewRun {
  readonly status: RunStatus;
  readonly finishedAt: Date | null;
  readonly queriesTotal: number;
  /** Explains in one sentence why the run is void or failed. */
  readonly reason: string | null;
  /** Sentences about likely mistakes in the config or the set, based on the results. */
  readonly warnings: readonly string[];
  /** Fingerprints of components, such as the store and the embedder, at the end of the run. */
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly labels: RunLabels;
  /** Results of the test for forbidden documents; null if the set forbids none, or if the run did not test for them. */
  readonly forbidden: ForbiddenCounts | null;
  /** Results for the unanswerable queries; null if the set has none, or if the run did not test them. */
  readonly noAnswer: NoAnswerResults | null;
  /** Measures of the retriever's stages; null if the retriever reports none, or if the run did not complete. */
  readonly stages: RunStages | null;
  /**
   * Time at which the run's results were deleted because the retention time (`keep_answers`) had passed; null while the
   * results exist.
   */
  readonly answersDeletedAt: Date | null;
}

/** Result of the search for the judged documents in the store; the numbers are null if the store was not probed. */
export interface RunLabels {
  /** Number of judged documents that were looked up. */
  readonly probed: number | null;
  /** Number of superseded or deleted documents: their judgments are out of date. */
  readonly stale: number | null;
  /** Number of documents that the manifest lists as deleted; `stale` includes them. */
  readonly deleted: number | null;
  /** Number of missing documents without a replacement; their loss makes retrieval worse. */
  readonly lost: number | null;
  /** Number of queries whose relevant documents are all superseded or deleted. */
  readonly deadQueries: number | null;
  /** Explains in one sentence why the store could not be probed. */
  readonly gap: string | null;
}

export interface ForbiddenCounts {
  /** Number of queries that have forbidden documents and got a response from the retriever. */
  readonly asked: number;
  /** Number of queries that have forbidden documents and failed. */
  readonly failed: number;
  /** Number of forbidden documents that could not be confirmed because the second request failed. */
  readonly unconfirmed: number;
}

/** An unanswerable query with more returned documents than the limits allow. */
export interface FalseAnswer {
  readonly query: string;
  /** Number of documents above `maxScore`. */
  readonly documents: number;
  /** Highest score of the counted documents; null if the retriever returns no scores. */
  readonly score: number | null;
}

export interface NoAnswerResults {
  /** Number of unanswerable queries, including failed queries. */
  readonly asked: number;
  /** Number of failed queries, which are not counted as empty results. */
  readonly failed: number;
  readonly answered: number;
  /** At most fifty queries, sorted by their number of returned documents (highest first), then by id. */
  readonly worst: readonly FalseAnswer[];
}

const MIN_MS = 600_000;
/** Maximum duration of a Node.js timer: 24 days. */
const MAX_MS = 2 ** 31 - 1;

/**
 * Returns the number of milliseconds after which a run counts as failed: three times the minimum time that the rate
 * limit allows, plus the time that the run takes if every request times out once. The result is at least ten minutes
 * and at most 24 days.
 */
export function runDeadlineMs(requests: number, settings: RunSettings, timeoutMs: number): number {
  const atRateLimit = (requests / settings.maxPerSecond) * 1000;
  const timedOut = Math.ceil(requests / settings.concurrency) * timeoutMs;
  return Math.min(MAX_MS, Math.max(MIN_MS, 3 * atRateLimit + timedOut));
}
