/** A golden run by hand: in this process, or handed to the workers of a daemon. */
import { hostname } from 'node:os';
import { openJobQueue } from '../adapters/queue/bullmq.ts';
import { RecalldError } from '../core/errors.ts';
import { jobCatalogue, runGoldenSetJob } from '../jobs/catalogue.ts';
import { type RunProgress, runGoldenSet } from '../pipeline/run-golden-set.ts';
import { startGoldenRun } from '../pipeline/start-golden-run.ts';
import type { GoldenRun } from '../ports/golden-runs.ts';
import type { CommandSettings, CommandStore } from './command-store.ts';
import { queueBackend } from './dependencies.ts';
import { createPipelines, findPipeline, scheduleOf } from './pipelines.ts';
import { newRunId } from './run-id.ts';
import { systemClock } from './system-clock.ts';

export interface GoldenRunRequest {
  readonly pipeline: string;
  readonly set: string;
}

/**
 * Runs a golden set now, to its end. Interrupted, the run is marked cancelled.
 *
 * @throws RecalldError pipeline_unknown, golden_set_unknown, or the reason of the signal
 */
export async function runGoldenSetNow(
  settings: CommandSettings,
  store: CommandStore,
  request: GoldenRunRequest,
  onProgress: (progress: RunProgress) => void,
): Promise<GoldenRun> {
  const { logger, signal } = settings;
  const clock = systemClock;
  const { run, pipeline } = await createRun(settings, store, request);
  const deps = { ...store, clock, logger, holder: `${hostname()}-${process.pid}` };
  try {
    await runGoldenSet(
      deps,
      run,
      pipeline,
      AbortSignal.any([signal, AbortSignal.timeout(run.deadlineAt.getTime() - Date.now())]),
      onProgress,
    );
  } catch (error) {
    const status = signal.aborted ? 'cancelled' : 'failed';
    const reason = signal.aborted ? 'It was interrupted by the person who started it.' : messageOf(error);
    await store.runs.finish(run.id, {
      status,
      reason,
      finishedAt: clock.now(),
      scores: [],
      checks: [],
      segmentsOverflow: 0,
    });
    throw error;
  }
  return (await store.runs.find(run.id)) ?? run;
}

/** Hands a golden run to the workers of the daemon and does not wait for it. */
export async function queueGoldenRun(
  settings: CommandSettings,
  store: CommandStore,
  request: GoldenRunRequest,
): Promise<GoldenRun> {
  if (store.storage.startedHere) {
    throw new RecalldError(
      'usage',
      'No daemon works on this data folder, so nobody would take the run; start `recalld serve` or leave --no-wait out.',
    );
  }
  const { run } = await createRun(settings, store, request);
  const queue = await openJobQueue({
    backend: queueBackend(settings.config, store.storage),
    jobs: jobCatalogue,
    logger: settings.logger,
  });
  try {
    await queue.enqueue(runGoldenSetJob.name, { run_id: run.id }, run.id);
  } finally {
    await queue.close();
  }
  return run;
}

async function createRun({ config }: CommandSettings, store: CommandStore, request: GoldenRunRequest) {
  const pipeline = findPipeline(createPipelines(config), request.pipeline);
  const schedule = scheduleOf(pipeline, request.set);
  const runId = await startGoldenRun({ ...store, clock: systemClock, newRunId }, pipeline, schedule, null);
  const run = runId === null ? null : await store.runs.find(runId);
  if (run === null) throw new Error('a run by hand was refused by the database');
  return { run, pipeline };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
