/** What a command needs to say how the pipelines of the config stand, beside a daemon or without one. */
import type { EvaluateChecksDeps } from '../../checks/evaluate-checks.ts';
import { createDensityPlans } from '../../density/plan.ts';
import type { DiagnoseDeps } from '../../diagnosis/diagnose-pipeline.ts';
import { liveIntervalSeconds } from '../../live/live-jobs.ts';
import type { ReadReviewDeps } from '../../status/read-review.ts';
import type { ReadStatusDeps } from '../../status/read-status.ts';
import { systemClock } from '../../system-clock.ts';
import { closePipelines, createPipelines } from '../pipelines.ts';
import { createTimetable, intervalsOf } from '../timetable.ts';
import { type CommandSettings, type CommandStore, withCommandStore } from './command-store.ts';

export type WatchedStore = ReadStatusDeps & DiagnoseDeps & ReadReviewDeps & EvaluateChecksDeps;

/** Opens the store for the length of `work`. @throws RecalldError as createPipelines and withCommandStore */
export function withWatchedStore<T>(
  settings: CommandSettings,
  work: (store: WatchedStore) => Promise<T>,
): Promise<T> {
  return withCommandStore(settings, (store) => watching(settings, store, work));
}

/** Over a store that is open. @throws RecalldError as createPipelines */
export async function watching<T>(
  { config, logger }: CommandSettings,
  store: CommandStore,
  work: (store: WatchedStore) => Promise<T>,
): Promise<T> {
  const clock = systemClock;
  const pipelines = createPipelines(config, logger);
  try {
    return await work({
      ...store,
      pipelines,
      densityPlans: createDensityPlans(config, pipelines),
      intervalSeconds: intervalsOf(pipelines, createTimetable(clock.now())),
      liveIntervalSeconds: liveIntervalSeconds(clock),
      clock,
      logger,
    });
  } finally {
    await closePipelines(pipelines);
  }
}
