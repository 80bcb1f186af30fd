/**
 * Sends golden queries to the retriever with one word removed, to find out which parts of a query affect the results.
 */

import type { Context } from '../../core/context.ts';
import type { GoldenRun } from '../../golden/rules/run.ts';
import { readComparedSide } from '../../golden/runs/stored-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { gapNow, valueNow } from '../../index/probes/probes.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { areCallsDue, callRetriever } from './call-retriever.ts';
import { OUTAGE_ALERT } from './firing-alerts.ts';
import type { Alert } from './rules/incident.ts';
import { changedQueries, wordEffects } from './rules/removed-words.ts';

export const IGNORED_ENDING = 'ignored_ending_ratio';

const MIN_QUERIES = 4;

/** Returns true if a golden set has an alert, and words were not removed from its queries in the last half hour. */
export function areWordsDue(alerts: readonly Alert[], latest: readonly LatestMeasurement[], now: Date): boolean {
  const golden = alerts.filter(({ goldenSet }) => goldenSet !== null);
  return (
    golden.length > 0 && golden.every(({ rule }) => rule !== OUTAGE_ALERT) && areCallsDue(IGNORED_ENDING, latest, now)
  );
}

/**
 * Measures `ignored_ending_ratio` on golden queries whose results changed: the share for which the retriever returns
 * the same results if a word near the end is removed. The details contain the counts of `wordEffects`.
 *
 * Records a gap if fewer than four queries changed, or if the retriever fails. Rejects with the reason of `signal`, or
 * with a database error.
 *
 * @param run the bad run
 * @param reference the last good run
 */
export async function removeWords(
  context: Context,
  pipeline: WatchedPipeline,
  run: GoldenRun,
  reference: GoldenRun,
  signal: AbortSignal,
): Promise<void> {
  const { clock, db } = context;
  const now = clock.now();
  const gap = (reason: string) => db.measurements.record([gapNow(pipeline.name, IGNORED_ENDING, now, reason)]);
  const [before, after] = await Promise.all([readComparedSide(context, reference), readComparedSide(context, run)]);
  const queries = changedQueries(before, after);
  if (queries.length < MIN_QUERIES) return gap('few_changed_results');
  const requests = queries.flatMap((query) => query.requests);
  const found = await callRetriever(context, pipeline, requests, 'remove-words', signal);
  const details = wordEffects(queries, found, run.settings.chunkSeparator);
  const { asked: n, endIgnored } = details;
  if (n < MIN_QUERIES) return gap('retriever_failed');
  const value = endIgnored / n;
  const { low: ciLow, high: ciHigh } = wilsonInterval(value, n, 0.95);
  await db.measurements.record([
    valueNow(pipeline.name, IGNORED_ENDING, now, { value, n, ciLow, ciHigh, ciMethod: 'wilson', details }),
  ]);
}
