/** Sums feedback, clicks and grades of live queries by arm and day. */

import type { Context } from '../core/context.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { judgedQueriesOf } from '../judging/rules/judged-measures.ts';
import { clickedQueries } from '../live/rules/feedback/click-rates.ts';
import { rateFor } from '../live/rules/sampling/decision.ts';
import type { LiveWindow, WindowQuery } from '../live/sql/live-windows.ts';
import type { VariantPlan } from './plan.ts';
import { type GradedQuery, sumArms, type UsedQuery } from './rules/arms.ts';
import { trafficSeries } from './sql/interim-analyses.ts';

/** How long recalld waits for clicks, feedback and grades after the end of a day; the same for every arm. */
const PATIENCE_MS = 6 * HOUR_MS;
/** Maximum number of samples per day. If there are more samples, recalld subsamples the sessions. */
const MAX_SAMPLES = 50_000;

/**
 * Sums the data of each finished day (UTC) that has not been summed yet and whose live queries are still stored, oldest
 * day first.
 *
 * @throws the abort reason of `signal`
 */
export async function sumDays(context: Context, plan: VariantPlan, signal: AbortSignal): Promise<void> {
  const now = context.clock.now();
  const known = new Set((await context.db.experiments.analyses.days(plan, trafficSeries)).map(({ day }) => day));
  const today = Math.floor((now.getTime() - PATIENCE_MS) / DAY_MS) * DAY_MS;
  // Skips the oldest day, because part of it may already be deleted.
  const kept = Math.ceil((now.getTime() - plan.retentionDays * DAY_MS) / DAY_MS) * DAY_MS;
  for (let start = Math.max(kept, plan.since?.getTime() ?? kept); start < today; start += DAY_MS) {
    const day = new Date(start).toISOString().slice(0, 10);
    if (known.has(day)) continue;
    const window = { pipeline: plan.pipeline, from: new Date(start), until: new Date(start + DAY_MS) };
    const queries = await readQueries(context, plan, window, signal);
    const grades = await readGrades(context, plan, window);
    const names = plan.arms.map(({ name }) => name);
    await context.db.experiments.analyses.saveDay(plan, trafficSeries, sumArms(day, names, queries, grades), now);
  }
  const oldest = new Date(now.getTime() - context.config.storage.measurement_retention_days * DAY_MS);
  await context.db.experiments.analyses.forgetTraffic(plan.pipeline, oldest);
}

async function readQueries({ db }: Context, plan: VariantPlan, window: LiveWindow, signal: AbortSignal) {
  const { samples } = await db.live.windows.count(window);
  let halvings = 0;
  while (samples * 2 ** -halvings > MAX_SAMPLES) halvings++;
  const { experiment: tag } = plan;
  const queries: UsedQuery[] = [];
  for await (const batch of db.live.windows.queries(window, halvings)) {
    signal.throwIfAborted();
    const own = batch.filter(({ segments }) => Object.hasOwn(segments, tag));
    const ids = own.map(({ id }) => id);
    const clicks = await db.live.windows.clicks(plan.pipeline, ids, window.from);
    const opinions = await db.live.windows.opinions(plan.pipeline, ids, window.from);
    const clicked = clickedQueries(own, clicks).queries;
    for (const [place, query] of own.entries()) {
      const said = opinions.get(query.id);
      queries.push({
        cluster: Number(query.cluster),
        arm: query.segments[tag] ?? '',
        probability: query.probability,
        leastProbability: leastProbability(query, plan) * 2 ** -halvings,
        isClicked: (clicked[place]?.clickedRanks.length ?? 0) > 0,
        positive: said?.positive ?? 0,
        negative: said?.negative ?? 0,
      });
    }
  }
  return queries;
}

/** Probability that the query would have been sampled in the arm with the lowest sampling rate. */
function leastProbability({ segments, rateProbability }: WindowQuery, { arms, experiment: tag, rates }: VariantPlan) {
  const own = rateFor(segments, rates);
  const least = Math.min(...arms.map(({ name }) => rateFor({ ...segments, [tag]: name }, rates)));
  // The config may have had different rates on that day.
  return own === 0 ? 0 : rateProbability * Math.min(1, least / own);
}

async function readGrades({ db }: Context, { judged, experiment: tag }: VariantPlan, window: LiveWindow) {
  if (judged === null) return [];
  const { queries } = await db.judging.judged.graded(window);
  const own = queries.filter(({ tags }) => Object.hasOwn(tags, tag));
  const settings = { depth: judged.depth, counted: {}, segmentKeys: [], maxSegments: 0, judge: null };
  return judgedQueriesOf(own, settings, 'ndcg').flatMap((query, place): GradedQuery[] => {
    const score = query[judged.by];
    const probability = judged.by === 'model' ? query.modelProbability : query.humanProbability;
    const arm = own[place]?.tags[tag] ?? '';
    return score === null ? [] : [{ cluster: Number(query.cluster), arm, probability, score }];
  });
}
