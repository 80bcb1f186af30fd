import type { CheckResult } from '../../checks/rules/check-result.ts';
import type { ComparedWithBaseline } from '../../checks/rules/regression.ts';
import type { RunStatus } from '../../model.ts';
import type { RunDifference } from '../rules/compare-golden-runs.ts';
import type { LabelProbe, StaleLabel } from '../rules/label-probe.ts';
import type { OutcomeCounts, QueryAnswer, RunSettings, SegmentScore } from '../rules/run.ts';

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
  /** What the store and the embedder were made of when it ended, by part. */
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly labels: RunLabels;
}

/** How many judged documents were looked for in the store and how many are gone; nulls when nobody looked. */
export interface RunLabels {
  readonly probed: number | null;
  readonly stale: number | null;
  /** Queries whose every relevant document is gone. */
  readonly deadQueries: number | null;
  /** Why nobody could look, one sentence. */
  readonly gap: string | null;
}

/** `baseline`: against the pinned run. `deployment`: against the last run before the store or the model changed. */
export type ComparisonKind = 'baseline' | 'deployment';

/** A run against another one, over all queries and over each segment. */
export interface StoredComparison {
  readonly kind: ComparisonKind;
  /** Id of the other run. */
  readonly against: string;
  readonly differences: readonly RunDifference[];
}

export interface RunEnd {
  readonly status: Exclude<RunStatus, 'running'>;
  readonly reason: string | null;
  readonly finishedAt: Date;
  readonly scores: readonly SegmentScore[];
  readonly checks: readonly CheckResult[];
  readonly segmentsOverflow: number;
  /** Null when the run came to no end at which the labels were looked for. */
  readonly labels: LabelProbe | null;
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly comparisons: readonly StoredComparison[];
}

/**
 * Golden runs and what became of their queries.
 *
 * A running run is held by one worker through a lease. Whoever holds it may answer its queries; when the lease runs
 * out, anyone may take the run over and goes on with the queries that have no answer yet.
 */
export interface GoldenRuns {
  /** False when the tick has its run, or a full run that a sentinel asked for is still running. */
  create(run: NewRun): Promise<boolean>;
  /** Takes or renews the lease. False when the run is not running or somebody else holds it. */
  hold(runId: string, holder: string, leaseSeconds: number): Promise<boolean>;
  /** Gives the lease back, so that another may go on at once. */
  release(runId: string, holder: string): Promise<void>;
  /** Stores answers; a query that has one keeps the first. */
  saveAnswers(runId: string, answers: readonly QueryAnswer[]): Promise<void>;
  answers(runId: string): Promise<readonly QueryAnswer[]>;
  /** Those of some queries that have an answer. */
  answered(runId: string, queryIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Ends a running run with its scores and checks, all or nothing. False when it had ended before. */
  finish(runId: string, end: RunEnd): Promise<boolean>;
  /** Null when there is none of that id. */
  find(runId: string): Promise<GoldenRun | null>;
  /** Newest first. */
  list(filter: {
    readonly pipeline?: string;
    readonly goldenSet?: string;
    readonly version?: number;
    readonly status?: RunStatus;
    /** Full runs unless told otherwise. */
    readonly purpose?: RunPurpose;
    /** Only runs that started before this one. */
    readonly before?: GoldenRun;
    readonly limit: number;
  }): Promise<readonly GoldenRun[]>;
  scores(runId: string): Promise<readonly SegmentScore[]>;
  checks(runId: string): Promise<readonly CheckResult[]>;
  outcomes(runId: string): Promise<OutcomeCounts>;
  comparisons(runId: string): Promise<readonly StoredComparison[]>;
  staleLabels(runId: string): Promise<readonly StaleLabel[]>;
  /** What the latest completed full runs of a pipeline and set, of versions up to one, were found to be against their baselines, oldest first. */
  comparedWithBaseline(
    pipeline: string,
    goldenSet: string,
    upToVersion: number,
    limit: number,
  ): Promise<readonly ComparedWithBaseline[]>;
  /** 95th percentile of the latencies of a run in milliseconds, failures left out; null without any. */
  latency95(runId: string): Promise<number | null>;
  /** Running runs that nobody holds or asks for, oldest first. */
  abandoned(): Promise<readonly GoldenRun[]>;
  /**
   * The state of each pipeline and set that has ever had a full run, for the exporter. While a new version runs beside
   * the old one, it is that of the old one; then that of the new one.
   */
  latest(): Promise<readonly LatestRun[]>;
  /** The latest sentinel of each pipeline and set that ever had one, for the exporter. */
  latestSentinels(): Promise<readonly LatestSentinel[]>;
  /** Drops sentinels that started before a time; full runs are kept. */
  pruneSentinels(before: Date): Promise<void>;
}

/** What the exporter needs of the sentinels of one pipeline and golden set. */
export interface LatestSentinel {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly lastAttemptAt: Date;
  /** The latest that came to an end of its own; `hasFallen` is by its status. */
  readonly ended: { readonly finishedAt: Date; readonly hasFallen: boolean } | null;
  /** The latest that stood or fell by its scores: its retriever answered. */
  readonly completed: { readonly startedAt: Date; readonly finishedAt: Date } | null;
}

/** What the exporter needs of one pipeline and golden set. */
export interface LatestRun {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly lastAttemptAt: Date;
  readonly runsByStatus: Readonly<Record<RunStatus, number>>;
  /** The latest run that came to an end of its own: completed, void or failed. */
  readonly ended: {
    readonly durationSeconds: number;
    readonly outcomes: OutcomeCounts;
    readonly checks: readonly CheckResult[];
    readonly finishedAt: Date;
  } | null;
  /** The latest run that completed. */
  readonly completed: {
    readonly startedAt: Date;
    readonly finishedAt: Date;
    readonly scores: readonly SegmentScore[];
    readonly segmentsOverflow: number;
    readonly labels: RunLabels;
    /** Against the pinned baseline; null when none was pinned. */
    readonly baseline: StoredComparison | null;
  } | null;
}
