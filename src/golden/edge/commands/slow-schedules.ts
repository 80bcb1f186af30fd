/** Warns in `recalld config check` about golden schedules whose interval is shorter than recent runs take. */
import { type CommandSettings, readIfThere, withCommandStore } from '../../../app/commands/command-store.ts';
import { duration, plural } from '../../../core/format.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { type Cron, shortestGapSeconds } from '../../../math/schedule/occurrences.ts';
import type { RunPurpose } from '../../rules/run.ts';
import { overrunSeconds } from '../../rules/schedule.ts';
import type { GoldenRuns } from '../../sql/golden-runs.ts';
import type { WatchedPipeline } from '../../watched-pipeline.ts';

/** Number of runs in the median duration. */
const COUNTED = 5;
/** Number of runs to read; more than COUNTED, because cancelled runs do not count. */
const RECENT = 10;

export function readSlowSchedules(settings: CommandSettings, pipelines: readonly WatchedPipeline[]) {
  return readIfThere(settings, () =>
    withCommandStore(settings, ({ db }) => slowSchedules(db.golden.runs, pipelines, systemClock.now())),
  );
}

/** Returns the schedules whose interval is shorter than the median duration of their latest runs. */
export async function slowSchedules(runs: GoldenRuns, pipelines: readonly WatchedPipeline[], now: Date) {
  const found = [];
  for (const { name: pipeline, golden } of pipelines) {
    for (const { set: goldenSet, cron, sentinel } of golden) {
      const schedules: readonly [RunPurpose, Cron | null][] = [
        ['full', cron],
        ['sentinel', sentinel?.cron ?? null],
      ];
      for (const [purpose, own] of schedules) {
        if (own === null) continue;
        const durations = await lastDurations(runs, { pipeline, goldenSet, purpose }, now);
        const intervalSeconds = shortestGapSeconds(own, now);
        const medianRunSeconds = overrunSeconds(durations, intervalSeconds);
        if (medianRunSeconds === null) continue;
        found.push({
          pipeline,
          goldenSet,
          purpose,
          intervalSeconds,
          medianRunSeconds,
          runs: durations.length,
        });
      }
    }
  }
  return found;
}

/**
 * Returns the durations of runs in seconds, newest first. The duration of a run in progress is the time since its
 * start.
 */
async function lastDurations(
  runs: GoldenRuns,
  series: { readonly pipeline: string; readonly goldenSet: string; readonly purpose: RunPurpose },
  now: Date,
): Promise<number[]> {
  const latest = await runs.list({ ...series, limit: RECENT });
  return latest
    .filter(({ status }) => status !== 'cancelled')
    .slice(0, COUNTED)
    .map(({ startedAt, finishedAt }) => ((finishedAt ?? now).getTime() - startedAt.getTime()) / 1000);
}

export function slowScheduleInWords({
  pipeline,
  goldenSet,
  purpose,
  intervalSeconds,
  medianRunSeconds,
  runs,
}: Awaited<ReturnType<typeof slowSchedules>>[number]): string {
  const what = purpose === 'full' ? 'a full run' : 'a sentinel';
  const remedy =
    purpose === 'full'
      ? 'run the set less often, or raise `concurrency` or `max_per_second`'
      : 'run the sentinel less often, or use fewer `queries`';
  return (
    `warning: ${pipeline}: ${what} of ${goldenSet} starts every ${duration(intervalSeconds)}, but takes ${duration(medianRunSeconds)} ` +
    `(median of the last ${plural(runs, 'run')}). Planned runs are skipped while a run is in progress; to avoid this, ${remedy}.`
  );
}
