/** The role `worker`: takes jobs from the queue. */
import { type JobDeps, runGoldenSetJob } from '../jobs/catalogue.ts';
import { createJobRunner } from '../jobs/run-job.ts';
import type { GoldenRun } from '../ports/golden-runs.ts';
import type { CleanupStack } from './cleanup-stack.ts';
import type { Dependencies } from './dependencies.ts';
import { findPipeline } from './pipelines.ts';

export async function startWorkers(dependencies: Dependencies, cleanups: CleanupStack): Promise<void> {
  const { config, sets, runs, traffic, queue, clock, logger, exporter, pipelines, replica } = dependencies;
  const isWatched = (name: string): boolean => pipelines.some((pipeline) => pipeline.name === name);
  const resume = (run: GoldenRun): Promise<void> => {
    // A run that waits in a long queue is enqueued again once a minute at most.
    const minute = Math.floor(clock.now().getTime() / 60_000);
    return queue.enqueue(runGoldenSetJob.name, { run_id: run.id }, `${run.id}-resumed-${minute}`);
  };
  const jobDeps: JobDeps = {
    sets,
    runs,
    traffic,
    clock,
    logger,
    holder: replica,
    retentionDays: new Map(config.pipelines.map(({ name, privacy }) => [name, privacy.retention_days])),
    recover: { runs, clock, logger, isWatched, resume },
    findPipeline: (name) => (isWatched(name) ? findPipeline(pipelines, name) : null),
  };
  const shutdown = new AbortController();
  await queue.work(
    createJobRunner({ jobDeps, clock, logger, meter: exporter.meter, shutdown: shutdown.signal }),
  );
  // Work in hand is put down, not finished: it is stored as far as it went and goes on after the next start.
  cleanups.defer('workers', () => {
    shutdown.abort(new Error('the daemon stops'));
    return queue.drain();
  });
}
