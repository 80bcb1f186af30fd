/** What is behind alarms. */
import { z } from 'zod';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { probePipelines } from '../probes/probe-pipelines.ts';
import type { ProbeDeps } from '../probes/probes.ts';
import { defineJob, type JobDefinition } from '../queue/job-queue.ts';
import { type DiagnoseDeps, keepDiagnosis } from './diagnose-pipeline.ts';
import { lookAtParts } from './look-at-parts.ts';

export interface DiagnosisJobDeps {
  readonly diagnose: DiagnoseDeps;
  readonly probes: ProbeDeps;
  readonly pipelines: readonly WatchedPipeline[];
}

export const diagnoseAlarmsJob = defineJob({
  name: 'diagnose-alarms',
  does: 'Looks for what is behind the checks that are in alarm, once a minute and at the end of each golden run.',
  // Left out, all pipelines.
  payload: z.strictObject({ pipeline: z.string().min(1).optional() }),
  concurrency: 1,
  attempts: 1,
  backoffMs: 1000,
  timeoutMs: 300_000,
  retainSeconds: 600,
  cron: '20 * * * * *',
  async handle({ diagnose, probes, pipelines }: DiagnosisJobDeps, { pipeline: only }, signal) {
    const asked = pipelines.filter(({ name }) => only === undefined || name === only);
    const look = (pipeline: (typeof pipelines)[number], until: AbortSignal): Promise<void> =>
      lookAtParts(probes, pipeline, until);
    await probePipelines(
      diagnose,
      asked,
      async (pipeline) => void (await keepDiagnosis(diagnose, pipeline, look, signal)),
      signal,
    );
  },
});

export const diagnosisJobs: readonly JobDefinition<DiagnosisJobDeps>[] = [diagnoseAlarmsJob];
