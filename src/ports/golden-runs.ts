import type { CheckResult } from '../core/checks/floor.ts';
import type { OutcomeCounts, QueryAnswer, RunSettings, SegmentScore } from '../core/golden/run.ts';
import type { RunStatus } from '../core/model.ts';

export interface NewRun {
  readonly id: string;
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly goldenSetVersion: number;
  readonly trigger: 'schedule' | 'manual';
  /** The tick that asked for it; one run per pipeline, set and tick. Null for runs by hand. */
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
}

export interface RunEnd {
  readonly status: Exclude<RunStatus, 'running'>;
  readonly reason: string | null;
  readonly finishedAt: Date;
  readonly scores: readonly SegmentScore[];
  readonly checks: readonly CheckResult[];
  readonly segmentsOverflow: number;
}

/**
 * Golden runs and what became of their queries.
 *
 * A running run is held by one worker through a lease. Whoever holds it may answer its queries; when the lease runs
 * out, anyone may take the run over and goes on with the queries that have no answer yet.
 */
export interface GoldenRuns {
  /** False when a run of this pipeline and set exists for the same tick. */
  create(run: NewRun): Promise<boolean>;
  /** Takes or renews the lease. False when the run is not running or somebody else holds it. */
  hold(runId: string, holder: string, leaseSeconds: number): Promise<boolean>;
  /** Gives the lease back, so that another may go on at once. */
  release(runId: string, holder: string): Promise<void>;
  /** Stores answers; a query that has one keeps the first. */
  saveAnswers(runId: string, answers: readonly QueryAnswer[]): Promise<void>;
  answers(runId: string): Promise<readonly QueryAnswer[]>;
  /** Ends a running run with its scores and checks, all or nothing. False when it had ended before. */
  finish(runId: string, end: RunEnd): Promise<boolean>;
  /** Null when there is none of that id. */
  find(runId: string): Promise<GoldenRun | null>;
  /** Newest first. */
  list(filter: {
    readonly pipeline?: string;
    readonly goldenSet?: string;
    readonly limit: number;
  }): Promise<readonly GoldenRun[]>;
  scores(runId: string): Promise<readonly SegmentScore[]>;
  checks(runId: string): Promise<readonly CheckResult[]>;
  outcomes(runId: string): Promise<OutcomeCounts>;
  /** Running runs that nobody holds, oldest first. */
  abandoned(): Promise<readonly GoldenRun[]>;
  /** The state of each pipeline and set that has ever run, for the exporter. */
  latest(): Promise<readonly LatestRun[]>;
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
    readonly finishedAt: Date;
    readonly scores: readonly SegmentScore[];
    readonly segmentsOverflow: number;
  } | null;
}
