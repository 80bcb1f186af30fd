/**
 * Replays live queries during an incident, to distinguish a fault in the retriever from a fault in the path of live
 * traffic.
 */

import type { Context } from '../../core/context.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { gapNow, valueNow } from '../../index/probes/probes.ts';
import { depthOf } from '../../live/rules/live-query.ts';
import type { AnsweredSample } from '../../live/sql/live-samples.ts';
import { rankBiasedOverlap } from '../../math/ir/ranking.ts';
import { summarize } from '../../math/stats/descriptive.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { areCallsDue, callRetriever } from './call-retriever.ts';
import { ISOLATION_ALERT, OUTAGE_ALERT } from './firing-alerts.ts';
import type { Alert } from './rules/incident.ts';

export const LIVE_REPLAY = 'live_replay_overlap';

/**
 * Maximum number of replayed queries per sample. One sample is from before the incident, the other from the last hour.
 */
const QUERIES = 24;
const MIN_QUERIES = 8;
/**
 * Time between the end of the earlier sample and the start of the incident. Alerts may fire hours after a fault begins.
 */
const BEFORE_MS = 6 * HOUR_MS;
const MAX_BEFORE_MS = 30 * HOUR_MS;
const RECENT_MS = HOUR_MS;

/**
 * Returns true if a replay can help to explain an open incident, and the last replay, successful or not, was at least
 * half an hour ago. A replay cannot help if all alerts are isolation violations, because a violation is its own cause.
 * While the retriever is down, a replay would only delay the page.
 */
export function isReplayDue(alerts: readonly Alert[], latest: readonly LatestMeasurement[], now: Date): boolean {
  const rules = alerts.map(({ rule }) => rule);
  if (rules.includes(OUTAGE_ALERT) || rules.every((rule) => rule === ISOLATION_ALERT)) return false;
  return areCallsDue(LIVE_REPLAY, latest, now);
}

/**
 * Sends sampled live queries to the retriever, and measures `live_replay_overlap`: the mean rank-biased overlap between
 * the results that users got in the last hour and the results of the replay. A live query that failed counts as a query
 * without results. The details contain the same overlap for queries from before the incident. If only the recent
 * results differ, the fault is in the path of live traffic; if only the earlier results differ, the retriever changed
 * for all callers.
 *
 * Records a gap if either sample has fewer than 8 queries with a stored text, for example in hash mode, or if the
 * retriever fails. Rejects with the reason of `signal`, or with a database error.
 *
 * @param openedAt start of the incident
 */
export async function replayLiveQueries(
  context: Context,
  pipeline: WatchedPipeline,
  openedAt: Date,
  signal: AbortSignal,
): Promise<void> {
  const { clock, db } = context;
  const { name } = pipeline;
  const now = clock.now();
  const [before, recent] = await Promise.all([
    db.live.samples.newest({ pipeline: name, ...hoursBefore(openedAt, MAX_BEFORE_MS, BEFORE_MS), limit: QUERIES }),
    db.live.samples.newest({ pipeline: name, ...hoursBefore(now, RECENT_MS, 0), limit: QUERIES }),
  ]);
  const gap = (reason: string) => {
    const window = { windowStart: new Date(now.getTime() - RECENT_MS) };
    return db.measurements.record([{ ...gapNow(name, LIVE_REPLAY, now, reason), ...window }]);
  };
  if (Math.min(before.length, recent.length) < MIN_QUERIES) return gap('too_few_queries');
  const overlaps = await replay(context, pipeline, alternating(recent, before), signal);
  const overlapOf = (samples: readonly AnsweredSample[]): number[] =>
    samples.flatMap((sample) => overlaps.get(sample) ?? []);
  const [was, is] = [overlapOf(before), overlapOf(recent)];
  const oldest = recent.at(-1);
  if (Math.min(was.length, is.length) < MIN_QUERIES || oldest === undefined) return gap('retriever_failed');
  const { mean, ...bounds } = summarize(is, 'ndcg');
  const earlier = summarize(was, 'ndcg');
  const value = {
    value: mean,
    ...bounds,
    windowStart: oldest.receivedAt,
    details: {
      before: earlier.mean,
      before_ci_low: earlier.ciLow,
      before_ci_high: earlier.ciHigh,
      before_n: earlier.n,
    },
  };
  await db.measurements.record([valueNow(name, LIVE_REPLAY, now, value)]);
}

function hoursBefore(time: Date, fromMs: number, untilMs: number) {
  return { since: new Date(time.getTime() - fromMs), until: new Date(time.getTime() - untilMs) };
}

/**
 * Alternates between the samples, so that a replay that ends early has used about the same number of queries from each.
 */
function alternating(one: readonly AnsweredSample[], other: readonly AnsweredSample[]): AnsweredSample[] {
  return Array.from({ length: QUERIES }, (_, place) => [one[place] ?? [], other[place] ?? []].flat()).flat();
}

/** Returns the overlap for each query that the retriever answered in time. */
async function replay(
  context: Context,
  pipeline: WatchedPipeline,
  samples: readonly AnsweredSample[],
  signal: AbortSignal,
): Promise<ReadonlyMap<AnsweredSample, number>> {
  const requests = samples.map((sample) => {
    const k = depthOf(sample.topK, sample.documentIds.length);
    return { text: sample.text, k, tags: sample.segments, sample };
  });
  const found = await callRetriever(context, pipeline, requests, 'replay', signal);
  return new Map(
    [...found].map(([{ sample, k }, ids]) => [sample, rankBiasedOverlap([...new Set(sample.documentIds)], ids, k)]),
  );
}
