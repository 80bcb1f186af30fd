/** The job that looks for what is behind alarms; it probes the parts of a pipeline out of turn. */
import { z } from 'zod';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { probePipelines } from '../probes/probe-jobs.ts';
import { measureAnnRecall, probeEmbedder, probeStore } from '../probes/probe-parts.ts';
import type { ProbeDeps, ProbedPipeline } from '../probes/probes.ts';
import { defineJob, type JobDefinition } from '../queue/job-queue.ts';
import { messageOf } from '../text/error-message.ts';
import { type DiagnoseDeps, keepIncident, pipelinesToLookAt } from './diagnose-pipeline.ts';

/** A part that does not answer within this keeps nobody from a diagnosis. */
const PATIENCE_MS = 30_000;

/** Measures the store, the embedder and the index now. A part that fails, or takes too long, is left out. */
async function probeParts(deps: ProbeDeps, pipeline: ProbedPipeline, signal: AbortSignal): Promise<void> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const probe = (work: () => Promise<void>): Promise<void> =>
    probePipelines(deps, [pipeline], work, bounded).catch((error: unknown) => {
      signal.throwIfAborted();
      deps.logger.warn('a part did not answer in time for a diagnosis', {
        pipeline: pipeline.name,
        reason: messageOf(error),
      });
    });
  const { name, store, embedder } = pipeline;
  await Promise.all([
    store === null ? undefined : probe(() => probeStore(deps, name, store, bounded)),
    embedder === null ? undefined : probe(() => probeEmbedder(deps, name, embedder, bounded)),
    probe(() => measureAnnRecall(deps, pipeline, bounded)),
  ]);
}

export interface DiagnosisJobDeps {
  readonly diagnose: DiagnoseDeps;
  /** Tells people of the incidents that were looked at. A queue of its own would cost each process its connections. */
  readonly notify: (signal: AbortSignal) => Promise<void>;
  readonly probes: ProbeDeps;
  readonly pipelines: readonly WatchedPipeline[];
}

export const diagnoseAlarmsJob = defineJob({
  name: 'diagnose-alarms',
  does: 'Looks for what is behind the checks that are in alarm, twice a minute and at the end of each golden run, and tells the receivers of `notify`.',
  // Left out, all pipelines.
  payload: z.strictObject({ pipeline: z.string().min(1).optional() }),
  concurrency: 1,
  attempts: 1,
  backoffMs: 1000,
  timeoutMs: 300_000,
  retainSeconds: 600,
  cron: '20,50 * * * * *',
  async handle({ diagnose, notify, probes, pipelines }: DiagnosisJobDeps, { pipeline: only }, signal) {
    const asked = pipelines.filter(({ name }) => only === undefined || name === only);
    const probe = (pipeline: (typeof pipelines)[number], until: AbortSignal): Promise<void> =>
      probeParts(probes, pipeline, until);
    await probePipelines(
      diagnose,
      await pipelinesToLookAt(diagnose, asked),
      async (pipeline) => void (await keepIncident(diagnose, pipeline, probe, signal)),
      signal,
    );
    await notify(signal);
  },
});

export const diagnosisJobs: readonly JobDefinition<DiagnosisJobDeps>[] = [diagnoseAlarmsJob];
