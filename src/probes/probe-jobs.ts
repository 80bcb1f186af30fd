/** Probes of stores and embedders. */
import { defineCronJob, type JobDefinition } from '../queue/job-queue.ts';
import { messageOf } from '../text/error-message.ts';
import { measureAnnRecall, probeEmbedder, probeStore } from './probe-parts.ts';
import type { ProbeDeps, ProbedPipeline } from './probes.ts';
import { type SnapshotDeps, snapshotStore } from './snapshot-store.ts';

export interface ProbeJobDeps {
  readonly probes: ProbeDeps;
  readonly snapshots: SnapshotDeps;
  readonly pipelines: readonly ProbedPipeline[];
  /** Draws, grades and measures the live traffic of pipelines that are judged. */
  readonly judge: (signal: AbortSignal) => Promise<void>;
}

const probeStoresJob = defineCronJob({
  name: 'probe-stores',
  does: 'Counts the vectors of each store and records a deployment when a store is no longer made of what it was.',
  cron: '*/5 * * * *',
  timeoutMs: 240_000,
  handle: ({ probes, pipelines }: ProbeJobDeps, signal) =>
    probePipelines(
      probes,
      pipelines,
      async ({ name, store }) => (store === null ? undefined : probeStore(probes, name, store, signal)),
      signal,
    ),
});

const probeEmbeddersJob = defineCronJob({
  name: 'probe-embedders',
  does: 'Embeds the canary texts again and records a deployment when another model answers.',
  cron: '4-59/10 * * * *',
  timeoutMs: 540_000,
  handle: ({ probes, pipelines }: ProbeJobDeps, signal) =>
    probePipelines(
      probes,
      pipelines,
      async ({ name, embedder }) => (embedder === null ? undefined : probeEmbedder(probes, name, embedder, signal)),
      signal,
    ),
});

const measureAnnRecallJob = defineCronJob({
  name: 'measure-ann-recall',
  does: 'Compares what the index of each store finds for live queries with an exact search; then draws live queries, has them graded, and measures what was graded.',
  cron: '37 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  async handle({ probes, pipelines, judge }: ProbeJobDeps, signal) {
    await probePipelines(probes, pipelines, (pipeline) => measureAnnRecall(probes, pipeline, signal), signal);
    await judge(signal);
  },
});

const snapshotStoresJob = defineCronJob({
  name: 'snapshot-stores',
  does: 'Draws a uniform sample of each store and holds what it holds against what people ask.',
  cron: '11 */6 * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: ({ probes, snapshots, pipelines }: ProbeJobDeps, signal) =>
    probePipelines(
      probes,
      pipelines,
      async ({ name, store }) => (store === null ? undefined : snapshotStore(snapshots, name, store, signal)),
      signal,
    ),
});

export const probeJobs: readonly JobDefinition<ProbeJobDeps>[] = [
  probeStoresJob,
  probeEmbeddersJob,
  measureAnnRecallJob,
  snapshotStoresJob,
];

/** @throws the reason of `signal` when it aborts */
export async function probePipelines<Pipeline extends ProbedPipeline>(
  deps: Pick<ProbeDeps, 'logger'>,
  pipelines: readonly Pipeline[],
  probe: (pipeline: Pipeline) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (const pipeline of pipelines) {
    signal.throwIfAborted();
    try {
      await probe(pipeline);
    } catch (error) {
      signal.throwIfAborted();
      const reason = messageOf(error);
      deps.logger.error('a pipeline could not be probed', { pipeline: pipeline.name, reason });
    }
  }
}
