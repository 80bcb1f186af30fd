/**
 * Computes measurements of all live traffic from graded queries: scores for the trailing window, and the drop of nDCG
 * in recent days below the preceding weeks.
 */

import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import { type CurrentJudge, JUDGE_DRIFT } from './judge-drift.ts';
import type { JudgingPlan } from './plan.ts';
import type { Agreement } from './rules/agreement.ts';
import { judgedEpisodeMeasures } from './rules/episode-scores.ts';
import { dropState, humanDrop, type JudgedDay, largestDrop, type RelevanceDrop } from './rules/judged-mean.ts';
import {
  humanAgreement,
  humanSessions,
  type JudgedWindow,
  judgeAgreement,
  judgedMeasures,
  judgedQueriesOf,
  modelMean,
  poolGap,
} from './rules/judged-measures.ts';

export const JUDGED_QUERIES = 'judged_queries';
export const JUDGE_AGREEMENT = 'judge_agreement';
export const HUMAN_AGREEMENT = 'human_agreement';
export const POOL_GAP = 'live_ndcg_pool_gap';
export const EPISODE_HIT_RATE = 'episode_hit_rate';
export const REWRITE_GAIN = 'rewrite_gain';

/** Measures the queries selected in the trailing window, or in the retention period if it is shorter. */
export async function measureJudged(
  { db, clock }: Context,
  plan: JudgingPlan,
  current: CurrentJudge | null,
): Promise<void> {
  const { pipeline, depth, pooling, windowMs, segmentKeys, maxSegments, retentionDays } = plan;
  const now = clock.now();
  const round = await db.judging.judged.round(pipeline);
  // The first round selects no queries.
  if (round === null || round.drawnUntil <= round.startedAt) return;
  const lengthMs = Math.min(windowMs, retentionDays * DAY_MS);
  const from = new Date(Math.max(round.startedAt.getTime(), round.drawnUntil.getTime() - lengthMs));
  const window = { pipeline, from, until: round.drawnUntil };
  const { queries, states } = await db.judging.judged.graded(window);
  const arrivals = await db.live.windows.arrivals(window);
  const counted = Object.fromEntries(Object.entries(arrivals).map(([outcome, { counted: of }]) => [outcome, of]));
  const frame = { pipeline, windowStart: from, windowEnd: round.drawnUntil, measuredAt: now };
  const whole = { ...frame, segment: ALL_SEGMENT };
  const judge = current?.judge.fingerprint ?? null;
  const grader = current === null ? {} : { judge, judge_since: current.since };
  const details = { k: depth, ...grader };
  const outcomes: MeasurementOutcome[] = judgedMeasures(queries, {
    depth,
    counted,
    segmentKeys,
    maxSegments,
    judge,
  }).map((outcome) =>
    outcome.kind === 'value'
      ? { ...frame, ...outcome, ciMethod: 'jackknife', details: { ...outcome.details, ...details } }
      : { ...frame, ...outcome, details },
  );
  const agreed = (
    measure: typeof JUDGE_AGREEMENT | typeof HUMAN_AGREEMENT,
    agreement: Agreement | null,
  ): MeasurementOutcome =>
    agreement === null
      ? { ...whole, measure, kind: 'no_data', reason: 'too_few_judgments', details: {} }
      : {
          ...whole,
          measure,
          kind: 'value',
          value: agreement.kappa,
          ciLow: agreement.low,
          ciHigh: agreement.high,
          ciMethod: 'jackknife',
          n: agreement.pairs,
          details: { sessions: agreement.sessions },
        };
  outcomes.push(
    plan.judge === null
      ? { ...whole, measure: JUDGE_AGREEMENT, kind: 'no_data', reason: 'no_judge', details: {} }
      : agreed(JUDGE_AGREEMENT, judgeAgreement(queries, judge)),
    agreed(HUMAN_AGREEMENT, humanAgreement(queries)),
  );
  if (pooling !== null && judge !== null) {
    const kind = { fingerprint: judge, k: depth, searched: pooling.documents };
    const pools = await db.judging.pools.searched(window, kind);
    const gap = poolGap(pools.queries, counted);
    const about = {
      ...whole,
      measure: POOL_GAP,
      details: { ...pools.states, ...details, searched: pooling.documents },
    };
    outcomes.push(
      gap === null
        ? { ...about, kind: 'no_data', reason: 'too_few_queries' }
        : {
            ...about,
            kind: 'value',
            value: gap.value,
            ciLow: gap.low,
            ciHigh: gap.high,
            ciMethod: 'jackknife',
            n: gap.n,
          },
    );
  }
  if (judge !== null && plan.episodeShare > 0) {
    const graded = await db.judging.episodes.graded(window, { fingerprint: judge, k: depth });
    // Most pipelines have no episodes, so their absence is not recorded as a gap.
    const measured = Object.keys(graded.states).length === 0 ? [] : judgedEpisodeMeasures(graded.episodes, plan);
    outcomes.push(
      ...measured.map(
        (outcome): MeasurementOutcome =>
          outcome.kind === 'value'
            ? { ...frame, ...outcome, ciMethod: 'jackknife', details: { ...graded.states, ...details } }
            : { ...frame, ...outcome, details: { ...graded.states, ...details } },
      ),
    );
  }
  const counts = { model: 0, person: 0, second: 0, human_sessions: humanSessions(queries) };
  for (const { documents } of queries) {
    if (documents.some(({ model }) => model !== null)) counts.model++;
    if (documents.some(({ person }) => person !== null)) counts.person++;
    if (documents.some(({ second }) => second !== null)) counts.second++;
  }
  outcomes.push({
    ...whole,
    kind: 'value',
    measure: JUDGED_QUERIES,
    value: counts.model + counts.person,
    ciLow: null,
    ciHigh: null,
    ciMethod: null,
    n: queries.length,
    details: { ...counts, ...states, ...grader, unaffordable: round.unaffordable },
  });
  await db.measurements.record(outcomes.map(sameMinute));
}

/** Returns the last recorded agreement; null if the latest window has no value. */
export function recordedAgreement(
  latest: readonly LatestMeasurement[],
  pipeline: string,
  measure: typeof JUDGE_AGREEMENT | typeof HUMAN_AGREEMENT,
): Agreement | null {
  const newest = latest.find((one) => one.pipeline === pipeline && one.measure === measure && one.gap === null)?.newest;
  if (newest == null) return null;
  const { value: kappa, ciLow, ciHigh, n: pairs, details } = newest;
  return { kappa, low: ciLow ?? kappa, high: ciHigh ?? kappa, pairs, sessions: Number(details['sessions']) };
}

/** Rounds window ends down to whole minutes, so that a retry replaces its first attempt. */
function sameMinute(outcome: MeasurementOutcome): MeasurementOutcome {
  const minute = Math.floor(outcome.windowEnd.getTime() / MINUTE_MS) * MINUTE_MS;
  return { ...outcome, windowEnd: new Date(Math.max(outcome.windowStart.getTime(), minute)) };
}

const JUDGED_DAY = 'judged_day';
export const LIVE_DROP = 'live_ndcg_drop';

/** Number of days that are measured again each time, because grades may have arrived late. */
const LATE_DAYS = 2;
/** Number of days read for the baseline: more than a baseline uses, because days may be missing. */
const BASELINE_DAYS = 70;

/**
 * Measures the last whole days (UTC) with the current judge, and compares them with the days before. Records no value
 * for a day on which the drift panel has not confirmed that the judge is unchanged.
 */
export async function measureDrop(context: Context, plan: JudgingPlan, current: CurrentJudge | null): Promise<void> {
  const { db, clock } = context;
  const now = clock.now();
  const today = new Date(now.getTime() - (now.getTime() % DAY_MS));
  const about = { pipeline: plan.pipeline, segment: ALL_SEGMENT, measure: LIVE_DROP, measuredAt: now } as const;
  const gap = (reason: string): Promise<void> =>
    db.measurements.record([{ ...about, windowStart: today, windowEnd: today, kind: 'no_data', reason, details: {} }]);
  if (current === null) return gap('no_judge');
  for (let day = LATE_DAYS; day > 0; day--) await measureDay(context, plan, current, daysBefore(today, day));
  const series = { pipeline: plan.pipeline, segment: ALL_SEGMENT };
  const judged = await db.measurements.series(
    { ...series, measure: JUDGED_DAY },
    daysBefore(today, BASELINE_DAYS),
    daysBefore(today, -1),
  );
  const days = judged.flatMap(({ windowStart: start, value, n, details }): JudgedDay[] =>
    details['judge'] === current.judge.fingerprint
      ? [{ start, value, n, standardError: Number(details['error']) }]
      : [],
  );
  const drop = largestDrop(days);
  if (drop === null) return gap('no_baseline');
  const driftToday = await db.measurements.series({ ...series, measure: JUDGE_DRIFT }, today, daysBefore(today, -1));
  if (driftToday.at(-1)?.details['verdict'] !== 'steady') return gap('judge_drift_suspected');
  const human = dropState(drop, null) === 'detected' ? await readHumanDrop(context, plan, drop, today) : null;
  const state = dropState(drop, human);
  // Human judgments decide whether the drop that the model detected is real.
  const by = state === 'detected' || human === null ? drop : human;
  await db.measurements.record([
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
      details: { state, k: plan.depth, days: drop.days, by: by === drop ? 'model' : 'human', detected: drop.drop },
    },
  ]);
}

const daysBefore = (day: Date, days: number): Date => new Date(day.getTime() - days * DAY_MS);

async function measureDay(
  context: Context,
  plan: JudgingPlan,
  { judge }: CurrentJudge,
  windowStart: Date,
): Promise<void> {
  const { pipeline } = plan;
  const windowEnd = daysBefore(windowStart, -1);
  const round = await context.db.judging.judged.round(pipeline);
  if (round === null || round.startedAt > windowStart || round.drawnUntil < windowEnd) return;
  const { queries, window } = await readWindow(context, plan, windowStart, windowEnd, judge.fingerprint);
  const mean = modelMean(queries, window, 'ndcg');
  if (mean === null) return;
  await context.db.measurements.record([
    {
      pipeline,
      segment: ALL_SEGMENT,
      measure: JUDGED_DAY,
      windowStart,
      windowEnd,
      measuredAt: context.clock.now(),
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

/**
 * Compares human judgments from before and after the drop. Uses queries graded by any judge, because human judgments
 * correct each judge.
 */
async function readHumanDrop(context: Context, plan: JudgingPlan, { since }: RelevanceDrop, today: Date) {
  const [before, after] = await Promise.all([
    readWindow(context, plan, daysBefore(today, plan.retentionDays), since, null),
    readWindow(context, plan, since, context.clock.now(), null),
  ]);
  return humanDrop(
    judgedQueriesOf(before.queries, before.window, 'ndcg'),
    judgedQueriesOf(after.queries, after.window, 'ndcg'),
  );
}

async function readWindow(
  { db }: Context,
  { pipeline, depth }: JudgingPlan,
  from: Date,
  until: Date,
  judge: string | null,
) {
  const at = { pipeline, from, until };
  const [{ queries }, arrivals] = await Promise.all([db.judging.judged.graded(at), db.live.windows.arrivals(at)]);
  const counted = Object.fromEntries(Object.entries(arrivals).map(([outcome, { counted: of }]) => [outcome, of]));
  const window: JudgedWindow = { depth, counted, segmentKeys: [], maxSegments: 0, judge };
  return { queries, window };
}
