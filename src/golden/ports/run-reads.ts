import type { Measure } from '../../ir/metric-key.ts';
import type { RunStatus } from '../../model.ts';
import type { QueryAnswer, SegmentScore } from '../rules/run.ts';

/** A run in the history of its golden set. */
export interface HistoricRun {
  readonly runId: string;
  readonly goldenSetVersion: number;
  readonly status: RunStatus;
  readonly startedAt: Date;
  /** Over all queries, at the largest cut-off; empty unless it completed. */
  readonly scores: readonly SegmentScore[];
}

/** What people who look into golden runs ask beyond what running them needs. */
export interface RunReads {
  /** The latest full runs of a set that started from `from` to before `until`, oldest first. */
  history(request: {
    readonly pipeline: string;
    readonly goldenSet: string;
    readonly from: Date;
    readonly until: Date;
    readonly limit: number;
    /** Whose scores are read; left out, all. */
    readonly measures?: readonly Measure[];
  }): Promise<readonly HistoricRun[]>;
  /** What was answered to one query; null while it has no answer. */
  answer(runId: string, queryId: string): Promise<QueryAnswer | null>;
}
