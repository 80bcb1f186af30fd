/**
 * Finds out whether a failing score was higher in the first run of its golden set, and how the judge or users rate live
 * results.
 */

import { ALL_SEGMENT } from '../../core/model.ts';
import type { GoldenRun } from '../../golden/rules/run.ts';
import type { RunMetricKey } from '../../golden/rules/score-run.ts';
import type { GoldenRuns } from '../../golden/sql/golden-runs.ts';
import { POSITIVE_RATIO } from '../../live/measure-feedback.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { estimateOf, freshly, valueOf } from './live-alerts.ts';
import type { FiringSummary } from './rules/firing.ts';
import type { ObservedLevel } from './rules/observations.ts';

/** @param latest measurements of the pipeline */
export async function observeLevel(
  runs: GoldenRuns,
  { id, pipeline, goldenSet }: GoldenRun,
  { key, floor }: FiringSummary,
  latest: readonly LatestMeasurement[],
): Promise<ObservedLevel | null> {
  if (key === null || floor === null) return null;
  const [begun] = await runs.list({ pipeline, goldenSet, status: 'completed', order: 'oldest_first', limit: 1 });
  const isKey = (one: { readonly segment: string; readonly measure: string; readonly k: number }): boolean =>
    one.segment === ALL_SEGMENT && one.measure === key.measure && one.k === key.k;
  const meanOf = async (runId: string): Promise<number | null> => (await runs.scores(runId)).find(isKey)?.mean ?? null;
  const now = await meanOf(id);
  const first = begun === undefined ? null : await meanOf(begun.id);
  if (now === null || first === null) return null;
  return { measure: formatMetricKey(key), now, first, threshold: floor, opinions: opinionsOf(key, latest) };
}

function opinionsOf({ measure }: RunMetricKey, latest: readonly LatestMeasurement[]): ObservedLevel['opinions'] {
  const judged = freshly(latest, `live_${measure}`);
  const newest = judged ?? valueOf(latest, POSITIVE_RATIO);
  if (newest === null) return null;
  return { ...estimateOf(newest), by: judged === null ? 'users' : 'judge' };
}
