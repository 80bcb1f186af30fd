/** What falls a golden set can find on the pipelines that run it, said before it has to. */

import { ALL_SEGMENT } from '../../model.ts';
import { occurrencesBetween } from '../../schedule/occurrences.ts';
import { DAY_MS } from '../../time.ts';
import { type DropCheck, describePower, usualCheck } from '../rules/detectable-drop.ts';
import { isQuiet } from '../rules/schedule.ts';
import type { GoldenBaselines } from '../sql/golden-baselines.ts';
import type { GoldenSchedule } from '../watched-pipeline.ts';

/** How one pipeline runs the set and judges it. */
export interface SetUse {
  readonly pipeline: string;
  readonly schedule: GoldenSchedule;
  /** Of the config; where there are none, the usual one on nDCG is spoken of. */
  readonly checks: readonly DropCheck[];
}

/**
 * A sentence for each check.
 *
 * @param queries of the set, which may be a newer version than the one that was pinned
 */
export async function powerOfSet(
  { baselines }: { readonly baselines: Pick<GoldenBaselines, 'pinned'> },
  { pipeline, schedule, checks }: SetUse,
  queries: number,
  now: Date,
): Promise<string[]> {
  const pinned = await baselines.pinned(pipeline, schedule.set);
  const usual = { ...usualCheck, measure: `ndcg@${Math.max(...schedule.settings.cutoffs)}` };
  return (checks.length === 0 ? [usual] : checks).map((check) =>
    describePower(pinned?.noise[ALL_SEGMENT]?.[check.measure] ?? null, queries, check, runsPerDay(schedule, now)),
  );
}

function runsPerDay({ cron, quietHours, timezone }: GoldenSchedule, now: Date): number {
  if (cron === null) return 0;
  const ticks = occurrencesBetween(cron, now, new Date(now.getTime() + 7 * DAY_MS));
  return Math.floor(ticks.filter((tick) => !isQuiet(quietHours, timezone, tick)).length / 7);
}
