/** Sums of what users make of the variants of a service. */

import { judgedQueriesOf } from '../judging/rules/judged-measures.ts';
import { clickedQueries } from '../live/rules/feedback/click-rates.ts';
import { rateFor } from '../live/rules/sampling/decision.ts';
import type { LiveWindow, WindowQuery } from '../live/sql/live-windows.ts';
import { forEachPipeline } from '../queue/for-each-pipeline.ts';
import { defineCronJob, type JobDefinition } from '../queue/job-queue.ts';
import { DAY_MS, HOUR_MS } from '../time.ts';
import { sumDay, type VariantGrade, type VariantQuery } from './rules/compare-arms.ts';
import type { VariantDeps, VariantPlan } from './variants-reads.ts';

export interface VariantJobDeps {
  readonly variants: VariantDeps;
  readonly variantPlans: readonly VariantPlan[];
}

const sumVariantDaysJob = defineCronJob({
  name: 'sum-variant-days',
  does: 'Sums feedback, clicks and grades of each variant by day, six hours after the end of the day.',
  cron: '35 * * * *',
  timeoutMs: HOUR_MS / 2,
  handle: ({ variants, variantPlans }: VariantJobDeps, signal) =>
    forEachPipeline(variantPlans, signal, (plan) => sumDays(variants, plan, signal)),
});

export const variantJobs: readonly JobDefinition<VariantJobDeps>[] = [sumVariantDaysJob];

/** Clicks, opinions and grades that come later are left out, alike for every arm. */
const PATIENCE_MS = 6 * HOUR_MS;
/** Of more samples of a day sessions are drawn once more. */
const MAX_SAMPLES = 50_000;

/**
 * Sums the days (UTC) that are over and not summed yet, as far back as live queries are kept, oldest first.
 *
 * @throws the reason of `signal` when it aborts
 */
export async function sumDays(deps: VariantDeps, plan: VariantPlan, signal: AbortSignal): Promise<void> {
  const now = deps.clock.now();
  const known = new Set((await deps.variantDays.list(plan)).map(({ day }) => day));
  const today = Math.floor((now.getTime() - PATIENCE_MS) / DAY_MS) * DAY_MS;
  // Of the oldest day a part may be gone.
  const kept = Math.ceil((now.getTime() - plan.retentionDays * DAY_MS) / DAY_MS) * DAY_MS;
  for (let start = Math.max(kept, plan.since?.getTime() ?? kept); start < today; start += DAY_MS) {
    const day = new Date(start).toISOString().slice(0, 10);
    if (known.has(day)) continue;
    const window = { pipeline: plan.pipeline, from: new Date(start), until: new Date(start + DAY_MS) };
    const queries = await readQueries(deps, plan, window, signal);
    const grades = await readGrades(deps, plan, window);
    const names = plan.arms.map(({ name }) => name);
    await deps.variantDays.save(plan, sumDay(day, names, queries, grades), now);
  }
  const oldest = new Date(now.getTime() - deps.measurementRetentionDays * DAY_MS);
  await deps.variantDays.prune(plan.pipeline, oldest);
}

async function readQueries(
  { windows }: VariantDeps,
  plan: VariantPlan,
  window: LiveWindow,
  signal: AbortSignal,
): Promise<VariantQuery[]> {
  const samples = await windows.count(window);
  let halvings = 0;
  while (samples * 2 ** -halvings > MAX_SAMPLES) halvings++;
  const queries: VariantQuery[] = [];
  for await (const batch of windows.queries(window, halvings)) {
    signal.throwIfAborted();
    const own = batch.filter(({ segments }) => Object.hasOwn(segments, plan.tag));
    const ids = own.map(({ id }) => id);
    const clicks = await windows.clicks(plan.pipeline, ids, window.from);
    const opinions = await windows.opinions(plan.pipeline, ids, window.from);
    const clicked = clickedQueries(own, clicks).queries;
    for (const [place, query] of own.entries()) {
      const said = opinions.get(query.id);
      queries.push({
        cluster: Number(query.cluster),
        variant: query.segments[plan.tag] ?? '',
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

/** The chance that the rate would have given the query in the arm that is sampled least. */
function leastProbability(
  { segments, rateProbability }: Pick<WindowQuery, 'segments' | 'rateProbability'>,
  { arms, tag, rates }: VariantPlan,
): number {
  const own = rateFor(segments, rates);
  const least = Math.min(...arms.map(({ name }) => rateFor({ ...segments, [tag]: name }, rates)));
  // The config may have had other rates on that day.
  return own === 0 ? 0 : rateProbability * Math.min(1, least / own);
}

async function readGrades(
  { judged: table }: VariantDeps,
  { judged, tag }: VariantPlan,
  window: LiveWindow,
): Promise<VariantGrade[]> {
  if (judged === null) return [];
  const { queries } = await table.graded(window);
  const own = queries.filter(({ tags }) => Object.hasOwn(tags, tag));
  const settings = { depth: judged.depth, counted: {}, segmentKeys: [], maxSegments: 0, judge: null };
  return judgedQueriesOf(own, settings, 'ndcg').flatMap((query, place): VariantGrade[] => {
    const score = query[judged.by];
    const probability = judged.by === 'model' ? query.modelProbability : query.peopleProbability;
    const variant = own[place]?.tags[tag] ?? '';
    return score === null ? [] : [{ cluster: Number(query.cluster), variant, probability, score }];
  });
}
