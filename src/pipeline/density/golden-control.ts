/** Golden queries as a control group: their questions never change, so that what moves them is the store. */
import type { LatestRun } from '../../ports/golden-runs.ts';

/**
 * Whether the latest golden runs of a pipeline show a fall against their baselines, in any measure over all queries
 * whose 95 % interval lies below 0. Null without a run that was compared.
 */
export function goldenFell(latest: readonly LatestRun[], pipeline: string): boolean | null {
  const compared = latest
    .filter((run) => run.pipeline === pipeline)
    .flatMap((run) => run.completed?.baseline?.differences ?? []);
  return compared.length === 0 ? null : compared.some(({ ciHigh }) => ciHigh < 0);
}
