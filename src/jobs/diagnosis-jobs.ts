/** What is behind alarms. */
import { z } from 'zod';
import { keepDiagnosis } from '../pipeline/diagnosis/diagnose-pipeline.ts';
import { lookAtParts } from '../pipeline/diagnosis/look-at-parts.ts';
import { probePipelines } from '../pipeline/probes/probe-pipelines.ts';
import { defineJob, type JobDefinition } from './job-definition.ts';

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
  async handle({ diagnose, probes, pipelines }, { pipeline: only }, signal) {
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

export const diagnosisJobs: readonly JobDefinition[] = [diagnoseAlarmsJob];
