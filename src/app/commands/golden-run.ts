/** A golden run by hand: in this process, or handed to the workers of a daemon. */
import { hostname } from 'node:os';
import { evaluateChecks } from '../../checks/evaluate-checks.ts';
import { RecalldError } from '../../errors.ts';
import { runGoldenSetJob } from '../../golden/golden-jobs.ts';
import type { GoldenRun } from '../../golden/rules/run.ts';
import { newRunId } from '../../golden/run-id.ts';
import { cancelGoldenRun } from '../../golden/runs/cancel-golden-run.ts';
import { endWithoutScores } from '../../golden/runs/run-end.ts';
import { type RunProgress, runGoldenSet } from '../../golden/runs/run-golden-set.ts';
import { startGoldenRun } from '../../golden/runs/start-golden-run.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { openJobQueue } from '../../queue/bullmq.ts';
import { systemClock } from '../../system-clock.ts';
import { messageOf } from '../../text/error-message.ts';
import { jobCatalogue } from '../job-catalogue.ts';
import { scheduleOf } from '../pipelines.ts';
import { queueBackend } from '../queue-settings.ts';
import type { CommandSettings, CommandStore } from './command-store.ts';
import { watching } from './watched-store.ts';
import { withPipeline } from './with-pipeline.ts';

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
  return withPipeline(settings, request.pipeline, async (pipeline) => {
    const run = await createRun(pipeline, store, request);
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
      await store.runs.finish(run.id, endWithoutScores(status, reason, clock.now()));
      throw error;
    } finally {
      await watching(settings, store, (watched) => evaluateChecks(watched, [request.pipeline]));
    }
    return (await store.runs.find(run.id)) ?? run;
  });
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
  const run = await withPipeline(settings, request.pipeline, (pipeline) =>
    createRun(pipeline, store, request),
  );
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

async function createRun(
  pipeline: WatchedPipeline,
  store: CommandStore,
  request: GoldenRunRequest,
): Promise<GoldenRun> {
  const schedule = scheduleOf(pipeline, request.set);
  const runId = await startGoldenRun({ ...store, clock: systemClock, newRunId }, pipeline, schedule);
  const run = await store.runs.find(runId);
  if (run === null) throw new Error('a run by hand is gone from the database');
  return run;
}

/** @throws RecalldError run_unknown, run_not_running */
export function cancelRunNow({ runs }: CommandStore, runId: string): Promise<GoldenRun> {
  return cancelGoldenRun({ runs, clock: systemClock }, runId);
}
