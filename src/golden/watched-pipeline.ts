/** One pipeline of the config, ready for work. */
import type { GoldenChecks } from '../checks/rules/golden-checks.ts';
import type { ThresholdCheck } from '../checks/rules/threshold.ts';
import type { ProbedPipeline } from '../probes/probes.ts';
import type { Retriever } from '../retrievers/retriever.ts';
import type { Cron } from '../schedule/occurrences.ts';
import type { RunSettings } from './rules/run.ts';
import type { QuietHours } from './rules/schedule.ts';

export interface WatchedPipeline extends ProbedPipeline {
  readonly retriever: Retriever;
  /** Longest that one attempt at the retriever may take. */
  readonly timeoutMs: number;
  readonly golden: readonly GoldenSchedule[];
  readonly checks: GoldenChecks;
  /** Of measures that golden runs do not score. */
  readonly thresholds: readonly ThresholdCheck[];
  /** Gives back the connections of its parts. */
  close(): Promise<void>;
}

export interface GoldenSchedule {
  readonly set: string;
  /** Null: it runs only by hand. */
  readonly cron: Cron | null;
  /** A few queries that stand for the set between two full runs; null: none. */
  readonly sentinel: { readonly cron: Cron; readonly queries: number } | null;
  /** Of quiet hours and of the day of the budget. */
  readonly timezone: string;
  /** In these no scheduled full run starts. */
  readonly quietHours: readonly QuietHours[];
  /** Null: no limit. */
  readonly maxQueriesPerDay: number | null;
  /** Ticks at which a new version runs beside the old one before it takes over; 0: it takes over at once. */
  readonly rotationRuns: number;
  readonly settings: RunSettings;
}
