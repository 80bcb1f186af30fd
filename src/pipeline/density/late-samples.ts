/** Samples that came after their window had closed: its sums are measured again, its evidence is not. */
import type { ClosedWindow } from '../../ports/density-states.ts';
import { type MeasureClosedDeps, measureClosed } from './measure-closed.ts';
import type { DensityReference } from './reference.ts';

/** No density is shown over more than a day, and of older windows samples may be gone already. */
const LOOK_BACK_MS = 86_400_000;
/** Between the time that a score is given and the time that it can be read. */
const WRITING_MS = 60_000;

/**
 * Measures again those windows of the last day that got samples since the latest one was closed. In the end the sums
 * of a window are the same in whatever order its samples came, and so is the density over several windows.
 *
 * @param comparable closed windows against the same baseline, oldest first
 * @returns the windows that were measured again, oldest first
 */
export async function measureLateSamples(
  deps: MeasureClosedDeps,
  reference: DensityReference,
  comparable: readonly ClosedWindow[],
  signal: AbortSignal,
): Promise<readonly ClosedWindow[]> {
  const { plan, scoredSince } = reference;
  const latest = comparable.at(-1);
  if (latest === undefined) return [];
  const lateSince = new Date(Math.max(latest.measuredMs - WRITING_MS, scoredSince?.getTime() ?? 0));
  const firstLate = async (fromMs: number, untilMs: number): Promise<Date | null> => {
    const period = { pipeline: plan.pipeline, from: new Date(fromMs), until: new Date(untilMs) };
    return (await deps.coverage.tally({ ...period, scoredSince: lateSince })).first;
  };
  const first = await firstLate(latest.endMs - LOOK_BACK_MS, latest.endMs);
  if (first === null) return [];
  const remeasured: ClosedWindow[] = [];
  for (const window of comparable) {
    if (window.endMs <= first.getTime()) continue;
    if ((await firstLate(window.startMs, window.endMs)) === null) continue;
    remeasured.push((await measureClosed(deps, reference, window, signal)).closed);
  }
  return remeasured;
}
