/**
 * The job that updates incidents. When an incident opens, the job also probes the store, embedder and index, and sends
 * live and golden queries to the retriever.
 */

import { z } from 'zod';
import type { Context } from '../../core/context.ts';
import { measureAnnRecall, probeEmbedder, probeStore } from '../../index/probes/probe-connectors.ts';
import type { ProbedPipeline } from '../../index/probes/probes.ts';
import { attemptEach, forEachPipeline } from '../../platform/queue/for-each-pipeline.ts';
import { defineJob, type JobDefinition } from '../../platform/queue/job-queue.ts';
import { PROBES_MS } from './call-retriever.ts';
import { type Probes, pipelinesToDiagnose, updateIncident } from './diagnose-pipeline.ts';
import { removeWords } from './remove-words.ts';
import { replayLiveQueries } from './replay-live-queries.ts';

/**
 * Probes the store, embedder and index now. Does not wait for a slow probe, because the scheduled job repeats each
 * probe.
 *
 * @returns errors of probes whose measurements were not stored
 */
async function probeParts(
  context: Context,
  pipeline: ProbedPipeline,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const { name, store, embedder } = pipeline;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(PROBES_MS)]);
  const probes = await Promise.allSettled([
    store === null ? undefined : probeStore(context, name, store, bounded),
    embedder === null ? undefined : probeEmbedder(context, name, embedder, bounded),
    measureAnnRecall(context, pipeline, bounded),
  ]);
  signal.throwIfAborted();
  const problems = probes.flatMap((probe) => (probe.status === 'rejected' ? [probe.reason] : []));
  if (!bounded.aborted) return problems;
  context.logger.warn('a probe did not finish before the diagnosis', { pipeline: name });
  return problems.filter((problem) => problem !== bounded.reason);
}

function problemsOf(work: Promise<void>): Promise<readonly unknown[]> {
  return work.then(
    () => [],
    (error: unknown) => [error],
  );
}

export const diagnoseAlertsJob = defineJob({
  name: 'diagnose-alerts',
  does: 'Finds the likely cause of firing alerts every 15 seconds and after each golden run, then runs `send-notifications`.',
  // `pipeline` is the only pipeline to diagnose; if absent, the job diagnoses all pipelines.
  payload: z.strictObject({ pipeline: z.string().min(1).optional() }),
  concurrency: 1,
  attempts: 1,
  backoffMs: 1000,
  timeoutMs: 300_000,
  retainSeconds: 600,
  cron: '5,20,35,50 * * * * *',
  async handle(context: Context, { pipeline: only }, signal) {
    const { hooks, pipelines } = context;
    const asked = pipelines.filter(({ name }) => only === undefined || name === only);
    const due = await pipelinesToDiagnose(context, asked);
    if (due.length === 0) return;
    const probes: Probes = {
      parts: (pipeline, until) => probeParts(context, pipeline, until),
      replay: (pipeline, openedAt, until) => problemsOf(replayLiveQueries(context, pipeline, openedAt, until)),
      words: (pipeline, run, reference, until) => problemsOf(removeWords(context, pipeline, run, reference, until)),
    };
    await attemptEach(
      [() => forEachPipeline(due, signal, (one) => updateIncident(context, one, probes, signal)), () => hooks.notify()],
      signal,
    );
  },
});

export const diagnosisJobs: readonly JobDefinition<Context>[] = [diagnoseAlertsJob];
