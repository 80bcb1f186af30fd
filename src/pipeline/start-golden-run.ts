/** The first half of a golden run: it exists, with the set version and settings that it will be read by. */
import { RecalldError } from '../core/errors.ts';
import { runDeadlineMs } from '../core/golden/run.ts';
import type { Clock } from '../ports/clock.ts';
import type { GoldenRuns } from '../ports/golden-runs.ts';
import type { GoldenSets } from '../ports/golden-sets.ts';
import type { GoldenSchedule, WatchedPipeline } from './watched-pipeline.ts';

export interface StartGoldenRunDeps {
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  readonly clock: Clock;
  newRunId(now: Date): string;
}

/**
 * Makes a run of the latest version of the set.
 *
 * @param scheduledFor the planned time of the tick, null for a run by hand
 * @returns the run's id, or null when the tick has a run already
 * @throws RecalldError golden_set_unknown
 */
export async function startGoldenRun(
  deps: StartGoldenRunDeps,
  pipeline: WatchedPipeline,
  schedule: GoldenSchedule,
  scheduledFor: Date | null,
): Promise<string | null> {
  const set = await deps.sets.latest(schedule.set);
  if (set === null) {
    throw new RecalldError(
      'golden_set_unknown',
      `There is no golden set "${schedule.set}"; import one with \`recalld golden import PATH --set ${schedule.set}\`.`,
    );
  }
  const startedAt = deps.clock.now();
  const id = deps.newRunId(startedAt);
  const created = await deps.runs.create({
    id,
    pipeline: pipeline.name,
    goldenSet: set.name,
    goldenSetVersion: set.version,
    trigger: scheduledFor === null ? 'manual' : 'schedule',
    scheduledFor,
    settings: schedule.settings,
    startedAt,
    deadlineAt: new Date(
      startedAt.getTime() + runDeadlineMs(set.queries, schedule.settings, pipeline.timeoutMs),
    ),
  });
  return created ? id : null;
}
