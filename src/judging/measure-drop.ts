/** The judged days until now -> by how much live relevance lies below the weeks before, and what people make of it. */
import { ALL_SEGMENT } from '../model.ts';
import { DAY_MS } from '../time.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';
import { type JudgedWindow, judgedQueriesOf, modelMean } from './rules/judged-measures.ts';
import { dropOfPeople, dropState, type JudgedDay, largestDrop, type RelevanceDrop } from './rules/relevance-drop.ts';
import { type CurrentJudge, JUDGE_DRIFT } from './watch-judge.ts';

const JUDGED_DAY = 'judged_day';
export const LIVE_DROP = 'live_ndcg_drop';

/** Days whose late grades may still have come. */
const LATE_DAYS = 2;
/** As far back as days are held against, with some that are missing. */
const REFERENCE_DAYS = 70;

/**
 * Measures the last whole days (UTC) by the judge of now, and holds them against those before. Nothing is said on a day on
 * which the panel did not show that the judge is what it was.
 */
export async function measureDrop(deps: JudgingDeps, plan: JudgingPlan, current: CurrentJudge | null): Promise<void> {
  const { measurements, clock } = deps;
  const now = clock.now();
  const today = new Date(now.getTime() - (now.getTime() % DAY_MS));
  const about = { pipeline: plan.pipeline, segment: ALL_SEGMENT, measure: LIVE_DROP, measuredAt: now } as const;
  const gap = (reason: string): Promise<void> =>
    measurements.record([{ ...about, windowStart: today, windowEnd: today, kind: 'no_data', reason, details: {} }]);
  if (current === null) return gap('no_judge');
  for (let day = LATE_DAYS; day > 0; day--) await measureDay(deps, plan, current, daysBefore(today, day));
  const series = { pipeline: plan.pipeline, segment: ALL_SEGMENT };
  const judged = await measurements.series(
    { ...series, measure: JUDGED_DAY },
    daysBefore(today, REFERENCE_DAYS),
    daysBefore(today, -1),
  );
  const days = judged.flatMap(({ windowStart: start, value, n, details }): JudgedDay[] =>
    details['judge'] === current.judge.fingerprint
      ? [{ start, value, n, standardError: Number(details['error']) }]
      : [],
  );
  const drop = largestDrop(days);
  if (drop === null) return gap('no_reference');
  const looked = await measurements.series({ ...series, measure: JUDGE_DRIFT }, today, daysBefore(today, -1));
  if (looked.at(-1)?.details['verdict'] !== 'steady') return gap('judge_in_doubt');
  const people = dropState(drop, null) === 'called' ? await askPeople(deps, plan, drop, today) : null;
  const state = dropState(drop, people);
  // What people say takes the place of what the model said.
  const by = state === 'called' || people === null ? drop : people;
  await measurements.record([
    {
      ...about,
      windowStart: drop.since,
      windowEnd: today,
      kind: 'value',
      value: by.drop,
      ciLow: by.low,
      ciHigh: by.high,
      ciMethod: by === drop ? 'continuous' : 'welch',
      n: drop.n,
      details: { state, k: plan.depth, days: drop.days, by: by === drop ? 'model' : 'people', called: drop.drop },
    },
  ]);
}

const daysBefore = (day: Date, days: number): Date => new Date(day.getTime() - days * DAY_MS);

async function measureDay(
  deps: JudgingDeps,
  plan: JudgingPlan,
  { judge }: CurrentJudge,
  windowStart: Date,
): Promise<void> {
  const { pipeline } = plan;
  const windowEnd = daysBefore(windowStart, -1);
  const round = await deps.judged.round(pipeline);
  if (round === null || round.startedAt > windowStart || round.drawnUntil < windowEnd) return;
  const { queries, window } = await readWindow(deps, plan, windowStart, windowEnd, judge.fingerprint);
  const mean = modelMean(queries, window, 'ndcg');
  if (mean === null) return;
  await deps.measurements.record([
    {
      pipeline,
      segment: ALL_SEGMENT,
      measure: JUDGED_DAY,
      windowStart,
      windowEnd,
      measuredAt: deps.clock.now(),
      kind: 'value',
      value: mean.value,
      ciLow: mean.low,
      ciHigh: mean.high,
      ciMethod: 'jackknife',
      n: mean.n,
      details: { k: plan.depth, judge: judge.fingerprint, error: mean.standardError },
    },
  ]);
}

/** Whoever the judge was: people correct each. */
async function askPeople(deps: JudgingDeps, plan: JudgingPlan, { since }: RelevanceDrop, today: Date) {
  const [before, after] = await Promise.all([
    readWindow(deps, plan, daysBefore(today, plan.retentionDays), since, null),
    readWindow(deps, plan, since, deps.clock.now(), null),
  ]);
  return dropOfPeople(
    judgedQueriesOf(before.queries, before.window, 'ndcg'),
    judgedQueriesOf(after.queries, after.window, 'ndcg'),
  );
}

async function readWindow(
  { judged, windows }: JudgingDeps,
  { pipeline, depth }: JudgingPlan,
  from: Date,
  until: Date,
  judge: string | null,
) {
  const at = { pipeline, from, until };
  const [{ queries }, arrivals] = await Promise.all([judged.graded(at), windows.arrivals(at)]);
  const counted = Object.fromEntries(Object.entries(arrivals).map(([outcome, { counted: of }]) => [outcome, of]));
  const window: JudgedWindow = { depth, counted, segmentKeys: [], maxSegments: 0, judge };
  return { queries, window };
}
