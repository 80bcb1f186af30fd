/** What was graded of the trailing window -> measurements of all live traffic. */
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import { ALL_SEGMENT } from '../model.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';
import { judgeAgreement, judgedMeasures, peopleAgreement, peopleSessions } from './rules/judged-measures.ts';
import { poolGap } from './rules/pool-gap.ts';
import type { Agreement } from './rules/weighted-kappa.ts';
import type { CurrentJudge } from './watch-judge.ts';

export const JUDGED_QUERIES = 'judged_queries';
export const JUDGE_AGREEMENT = 'judge_agreement';
export const PEOPLE_AGREEMENT = 'people_agreement';
export const POOL_GAP = 'live_ndcg_pool_gap';

/** Measures the drawn queries of the trailing window, or of what has been drawn and is kept of it. */
export async function measureJudged(
  { judged, deeperPools, windows, measurements, clock }: JudgingDeps,
  plan: JudgingPlan,
  current: CurrentJudge | null,
): Promise<void> {
  const { pipeline, depth, deeper, windowMs, segmentKeys, maxSegments, retentionDays } = plan;
  const now = clock.now();
  const round = await judged.round(pipeline);
  // The first round only begins.
  if (round === null || round.drawnUntil <= round.startedAt) return;
  const lengthMs = Math.min(windowMs, retentionDays * DAY_MS);
  const from = new Date(Math.max(round.startedAt.getTime(), round.drawnUntil.getTime() - lengthMs));
  const window = { pipeline, from, until: round.drawnUntil };
  const { queries, states } = await judged.graded(window);
  const arrivals = await windows.arrivals(window);
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
    measure: typeof JUDGE_AGREEMENT | typeof PEOPLE_AGREEMENT,
    agreement: Agreement | null,
  ): MeasurementOutcome =>
    agreement === null
      ? { ...whole, measure, kind: 'no_data', reason: 'too_few_labels', details: {} }
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
    agreed(PEOPLE_AGREEMENT, peopleAgreement(queries)),
  );
  if (deeper !== null && judge !== null) {
    const kind = { fingerprint: judge, k: depth, searched: deeper.documents };
    const pools = await deeperPools.searched(window, kind);
    const gap = poolGap(pools.queries, counted);
    const about = { ...whole, measure: POOL_GAP, details: { ...pools.states, ...details, searched: deeper.documents } };
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
  const counts = { model: 0, person: 0, second: 0, people_sessions: peopleSessions(queries) };
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
  await measurements.record(outcomes.map(sameMinute));
}

/** An agreement as it was recorded; null where the latest window has none. */
export function recordedAgreement(
  latest: readonly LatestMeasurement[],
  pipeline: string,
  measure: typeof JUDGE_AGREEMENT | typeof PEOPLE_AGREEMENT,
): Agreement | null {
  const newest = latest.find((one) => one.pipeline === pipeline && one.measure === measure && one.gap === null)?.newest;
  if (newest == null) return null;
  const { value: kappa, ciLow, ciHigh, n: pairs, details } = newest;
  return { kappa, low: ciLow ?? kappa, high: ciHigh ?? kappa, pairs, sessions: Number(details['sessions']) };
}

/** Windows are named by whole minutes, so that a retry replaces what it repeats. */
function sameMinute(outcome: MeasurementOutcome): MeasurementOutcome {
  const minute = Math.floor(outcome.windowEnd.getTime() / MINUTE_MS) * MINUTE_MS;
  return { ...outcome, windowEnd: new Date(Math.max(outcome.windowStart.getTime(), minute)) };
}
