/** What a job is, and what its handler may use. */
import { z } from 'zod';
import type { EvaluateChecksDeps } from '../pipeline/checks/evaluate-checks.ts';
import type { EvaluateDensityDeps } from '../pipeline/density/evaluate.ts';
import type { LookForTopicsDeps } from '../pipeline/density/look-for-topics.ts';
import type { MeasureCoverageDeps } from '../pipeline/density/measure-coverage.ts';
import type { DiagnoseDeps } from '../pipeline/diagnosis/diagnose-pipeline.ts';
import type { AskBatchDeps } from '../pipeline/golden-runs/ask-golden-batch.ts';
import type { EscalateDeps } from '../pipeline/golden-runs/escalate-sentinel.ts';
import type { RecoverGoldenRunsDeps } from '../pipeline/golden-runs/recover-golden-runs.ts';
import type { RotationDeps } from '../pipeline/golden-runs/rotate-golden-set.ts';
import type { GoldenUpkeepDeps } from '../pipeline/golden-sets/measure-golden-representativeness.ts';
import type { MeasureFeedbackDeps } from '../pipeline/live/measure-feedback.ts';
import type { MeasureLiveDeps } from '../pipeline/live/measure-live-traffic.ts';
import type { MeasureRetrieversDeps } from '../pipeline/probes/measure-retrievers.ts';
import type { ProbeDeps } from '../pipeline/probes/probes.ts';
import type { SnapshotDeps } from '../pipeline/probes/snapshot-store.ts';
import type { WatchedPipeline } from '../pipeline/watched-pipeline.ts';
import type { JobQueue, JobSpec } from '../ports/job-queue.ts';
import type { LiveTraffic } from '../ports/live-traffic.ts';
import type { Measurements } from '../ports/measurements.ts';

/** What the handlers need of the program; the composition root provides it. */
export interface JobDeps extends AskBatchDeps {
  readonly queue: Pick<JobQueue, 'enqueue'>;
  readonly escalate: EscalateDeps;
  readonly rotate: RotationDeps;
  readonly recover: RecoverGoldenRunsDeps;
  readonly traffic: LiveTraffic;
  /** Days that the live queries of each pipeline are kept. */
  readonly retentionDays: ReadonlyMap<string, number>;
  readonly measurements: Measurements;
  readonly measurementRetentionDays: number;
  readonly measureLive: MeasureLiveDeps;
  readonly measureFeedback: MeasureFeedbackDeps;
  readonly evaluateChecks: EvaluateChecksDeps & MeasureRetrieversDeps;
  readonly topics: LookForTopicsDeps;
  readonly diagnose: DiagnoseDeps;
  readonly density: EvaluateDensityDeps & MeasureCoverageDeps;
  readonly probes: ProbeDeps;
  readonly snapshots: SnapshotDeps;
  readonly pipelines: readonly WatchedPipeline[];
  readonly goldenUpkeep: GoldenUpkeepDeps;
  findPipeline(name: string): WatchedPipeline | null;
}

export interface JobDefinition extends JobSpec {
  /** One sentence for people. */
  readonly does: string;
  readonly payload: z.ZodType;
  readonly timeoutMs: number;
  /** Cron expression, in UTC, of jobs that start by themselves. */
  readonly cron: string | null;
  /** @param payload as the schema has parsed it */
  handle(deps: JobDeps, payload: unknown, signal: AbortSignal): Promise<void>;
}

/** Gives the handler the type of the payload that its schema parses. */
export function defineJob<Schema extends z.ZodType>(
  job: Omit<JobDefinition, 'payload' | 'handle'> & {
    readonly payload: Schema;
    handle(deps: JobDeps, payload: z.infer<Schema>, signal: AbortSignal): Promise<void>;
  },
): JobDefinition {
  return {
    ...job,
    handle: (deps, payload, signal) => job.handle(deps, payload as z.infer<Schema>, signal),
  };
}

const CRON_JOB_RETAIN_SECONDS = 600;

/**
 * A job that starts by itself and needs no payload. A process runs one at a time, and a failed one is not tried again:
 * the next tick does the same work.
 */
export function defineCronJob(
  job: Pick<JobDefinition, 'name' | 'does' | 'timeoutMs'> & {
    readonly cron: string;
    readonly retainSeconds?: number;
    handle(deps: JobDeps, signal: AbortSignal): Promise<void>;
  },
): JobDefinition {
  return defineJob({
    ...job,
    payload: z.strictObject({}),
    concurrency: 1,
    attempts: 1,
    backoffMs: 1000,
    retainSeconds: job.retainSeconds ?? CRON_JOB_RETAIN_SECONDS,
    handle: (deps, _payload, signal) => job.handle(deps, signal),
  });
}
