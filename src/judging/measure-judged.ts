/**
 * Estimates measures of all live traffic from graded queries: scores over the trailing window, and drops in nDCG in
 * recent days.
 */

import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import type { Bounds } from '../math/stats/intervals.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import type { Round } from './grade-queries.ts';
import { type CurrentJudge, JUDGE_DRIFT } from './judge-drift.ts';
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

/** Measures the queries selected in the trailing window, or in the retention period if that period is shorter. */
export async function measureJudged(round: Round, current: CurrentJudge | null): Promise<void> {
  const { db, clock, plan } = round;
  const { pipeline, depth, pooling, windowMs, retentionDays } = plan;
  const now = clock.now();
  const rounds = await db.judging.judged.round(pipeline);
  // The first round selects no queries.
  if (rounds === null || rounds.drawnUntil <= rounds.startedAt) return;
  const until = rounds.drawnUntil;
  const lengthMs = Math.min(windowMs, retentionDays * DAY_MS);
  const from = new Date(Math.max(rounds.startedAt.getTime(), until.getTime() - lengthMs));
  const judge = current?.judge.fingerprint ?? null;
  const { queries, states, window } = await readWindow(round, from, until, judge);
  const frame = { pipeline, windowStart: from, windowEnd: until, measuredAt: now };
  const whole = { ...frame, segment: ALL_SEGMENT };
  const grader = current === null ? {} : { judge, judge_since: current.since };
  const details = { k: depth, ...grader };
  const framed = (
    one: ReturnType<typeof judgedMeasures | typeof judgedEpisodeMeasures>[number],
    more: Readonly<Record<string, number>> = {},
  ): MeasurementOutcome =>
    one.kind === 'value'
      ? { ...frame, ...one, ciMethod: 'jackknife', details: { ...one.details, ...more, ...details } }
      : { ...frame, ...one, details: { ...more, ...details } };
  const outcome = (
    measure: string,
    found: Parameters<typeof valueOf>[0] | null,
    reason: string,
    about: MeasurementOutcome['details'],
  ): MeasurementOutcome =>
    found === null
      ? { ...whole, measure, kind: 'no_data', reason, details: about }
      : { ...whole, measure, ...valueOf(found, 'jackknife'), details: about };
  const agreed = (measure: string, agreement: Agreement | null, reason = 'too_few_judgments'): MeasurementOutcome => {
    if (agreement === null) return outcome(measure, null, reason, {});
    const { kappa: value, pairs: n, sessions, ...bounds } = agreement;
    return outcome(measure, { value, n, ...bounds }, reason, { sessions });
  };
  const outcomes = judgedMeasures(queries, window).map((one) => framed(one));
  outcomes.push(
    plan.judge === null
      ? agreed(JUDGE_AGREEMENT, null, 'no_judge')
      : agreed(JUDGE_AGREEMENT, judgeAgreement(queries, judge)),
    agreed(HUMAN_AGREEMENT, humanAgreement(queries)),
  );
  const at = { pipeline, from, until };
  if (pooling !== null && judge !== null) {
    const { documents: searched } = pooling;
    const pools = await db.judging.pools.searched(at, { fingerprint: judge, k: depth, searched });
    const about = { ...pools.states, ...details, searched };
    outcomes.push(outcome(POOL_GAP, poolGap(pools.queries, window.counted), 'too_few_queries', about));
  }
  if (judge !== null && plan.episodeShare > 0) {
    const graded = await db.judging.episodes.graded(at, { fingerprint: judge, k: depth });
    // Most pipelines have no episodes, so no gap is recorded for a pipeline without episodes.
    const measured = Object.keys(graded.states).length === 0 ? [] : judgedEpisodeMeasures(graded.episodes, plan);
    outcomes.push(...measured.map((one) => framed(one, graded.states)));
  }
  const count = (judge: 'model' | 'person' | 'second'): number =>
    queries.filter(({ documents }) => documents.some((document) => document[judge] !== null)).length;
  const counts = {
    model: count('model'),
    person: count('person'),
    second: count('second'),
    human_sessions: humanSessions(queries),
  };
  outcomes.push({
    ...whole,
    kind: 'value',
    measure: JUDGED_QUERIES,
    value: counts.model + counts.person,
    ciLow: null,
    ciHigh: null,
    ciMethod: null,
    n: queries.length,
    details: { ...counts, ...states, ...grader, unaffordable: rounds.unaffordable },
  });
  await db.measurements.record(outcomes.map(sameMinute));
}

function valueOf({ value, low, high, n }: Bounds & { readonly value: number; readonly n: number }, ciMethod: string) {
  return { kind: 'value', value, ciLow: low, ciHigh: high, ciMethod, n } as const;
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

/** Rounds the end of a window down to a whole minute, so that a retry replaces the measurement of the first attempt. */
function sameMinute(outcome: MeasurementOutcome): MeasurementOutcome {
  const minute = Math.floor(outcome.windowEnd.getTime() / MINUTE_MS) * MINUTE_MS;
  return { ...outcome, windowEnd: new Date(Math.max(outcome.windowStart.getTime(), minute)) };
}

const JUDGED_DAY = 'judged_day';
export const LIVE_DROP = 'live_ndcg_drop';

/** Number of days that are measured again each time, because grades may have arrived late. */
const LATE_DAYS = 2;
/** Number of days to read for the baseline. A baseline uses fewer days, but the stored days may have gaps. */
const BASELINE_DAYS = 70;

/**
 * Measures the last whole days (UTC) with the current judge, and compares them with the preceding days. Records no
 * value for a day on which the drift panel has not confirmed that the judge is unchanged.
 */
export async function measureDrop(round: Round, current: CurrentJudge | null): Promise<void> {
  const { db, clock, plan } = round;
  const now = clock.now();
  const today = new Date(now.getTime() - (now.getTime() % DAY_MS));
  const about = { pipeline: plan.pipeline, segment: ALL_SEGMENT, measure: LIVE_DROP, measuredAt: now } as const;
  const gap = (reason: string): Promise<void> =>
    db.measurements.record([{ ...about, windowStart: today, windowEnd: today, kind: 'no_data', reason, details: {} }]);
  if (current === null) return gap('no_judge');
  for (let day = LATE_DAYS; day > 0; day--) await measureDay(round, current, daysBefore(today, day));
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
  const human = dropState(drop, null) === 'detected' ? await readHumanDrop(round, drop, today) : null;
  const state = dropState(drop, human);
  // Human judgments decide whether the drop that the model detected is real.
  const by = state === 'detected' || human === null ? drop : human;
  await db.measurements.record([
    {
      ...about,
      windowStart: drop.since,
      windowEnd: today,
      ...valueOf({ ...by, value: by.drop, n: drop.n }, by === drop ? 'continuous' : 'welch'),
      details: { state, k: plan.depth, days: drop.days, by: by === drop ? 'model' : 'human', detected: drop.drop },
    },
  ]);
}

const daysBefore = (day: Date, days: number): Date => new Date(day.getTime() - days * DAY_MS);

async function measureDay(round: Round, { judge }: CurrentJudge, windowStart: Date): Promise<void> {
  const { db, clock, plan } = round;
  const { pipeline } = plan;
  const windowEnd = daysBefore(windowStart, -1);
  const rounds = await db.judging.judged.round(pipeline);
  if (rounds === null || rounds.startedAt > windowStart || rounds.drawnUntil < windowEnd) return;
  const { queries, window } = await readWindow(round, windowStart, windowEnd, judge.fingerprint);
  const mean = modelMean(queries, window, 'ndcg');
  if (mean === null) return;
  await db.measurements.record([
    {
      pipeline,
      segment: ALL_SEGMENT,
      measure: JUDGED_DAY,
      windowStart,
      windowEnd,
      measuredAt: clock.now(),
      ...valueOf(mean, 'jackknife'),
      details: { k: plan.depth, judge: judge.fingerprint, error: mean.standardError },
    },
  ]);
}

/**
 * Compares human judgments from before and after the drop. Uses queries graded by any judge, because human judgments
 * correct each judge.
 */
async function readHumanDrop(round: Round, { since }: RelevanceDrop, today: Date) {
  const [before, after] = await Promise.all([
    readWindow(round, daysBefore(today, round.plan.retentionDays), since, null),
    readWindow(round, since, round.clock.now(), null),
  ]);
  return humanDrop(
    judgedQueriesOf(before.queries, before.window, 'ndcg'),
    judgedQueriesOf(after.queries, after.window, 'ndcg'),
  );
}

async function readWindow({ db, plan }: Round, from: Date, until: Date, judge: string | null) {
  const { pipeline, depth, segmentKeys, maxSegments } = plan;
  const at = { pipeline, from, until };
  const [graded, arrivals] = await Promise.all([db.judging.judged.graded(at), db.live.windows.arrivals(at)]);
  const counted = Object.fromEntries(Object.entries(arrivals).map(([outcome, { counted: of }]) => [outcome, of]));
  const window: JudgedWindow = { depth, counted, segmentKeys, maxSegments, judge };
  return { ...graded, window };
}
