/** What a command needs to say how the pipelines of the config stand, beside a daemon or without one. */
import { createCheckHistory } from '../../adapters/postgres/check-history.ts';
import { createDensityStates } from '../../adapters/postgres/density/density-states.ts';
import { createRunReads } from '../../adapters/postgres/golden/run-reads.ts';
import { createMeasurements } from '../../adapters/postgres/measurements.ts';
import { createSchedule } from '../../adapters/schedule/node-cron.ts';
import type { DiagnoseDeps } from '../../pipeline/diagnosis/diagnose-pipeline.ts';
import type { ReadReviewDeps } from '../../pipeline/golden-sets/read-review.ts';
import type { ReadStatusDeps } from '../../pipeline/publish/read-status.ts';
import { createDensityPlans } from '../density-plans.ts';
import { liveIntervalSeconds } from '../live-measures.ts';
import { closePipelines, createPipelines } from '../pipelines.ts';
import { systemClock } from '../system-clock.ts';
import { createTimetable, intervalsOf } from '../timetable.ts';
import { type CommandSettings, withCommandStore } from './command-store.ts';

export type WatchedStore = ReadStatusDeps & DiagnoseDeps & ReadReviewDeps;

/** Opens the store for the length of `work`. @throws RecalldError as createPipelines and withCommandStore */
export async function withWatchedStore<T>(
  settings: CommandSettings,
  work: (store: WatchedStore) => Promise<T>,
): Promise<T> {
  const { config, logger } = settings;
  const clock = systemClock;
  const pipelines = createPipelines(config, logger);
  try {
    return await withCommandStore(settings, async (store) => {
      const { pool } = store.storage;
      const schedule = createSchedule(logger);
      try {
        return await work({
          ...store,
          pipelines,
          measurements: createMeasurements(pool),
          runReads: createRunReads(pool),
          densityPlans: createDensityPlans(config, pipelines),
          densityStates: createDensityStates(pool),
          history: createCheckHistory(pool),
          intervalSeconds: intervalsOf(pipelines, createTimetable(schedule, clock.now())),
          liveIntervalSeconds: liveIntervalSeconds(schedule, clock),
          clock,
          logger,
        });
      } finally {
        await schedule.stop();
      }
    });
  } finally {
    await closePipelines(pipelines);
  }
}
