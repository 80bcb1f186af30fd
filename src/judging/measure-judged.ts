/** What was graded in the last week -> measurements of all live traffic. */
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import { ALL_SEGMENT } from '../model.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';
import { judgeAgreement, judgedMeasures, peopleSessions } from './rules/judged-measures.ts';
import type { CurrentJudge } from './watch-judge.ts';

const WINDOW_DAYS = 7;

export const JUDGED_QUERIES = 'judged_queries';
export const JUDGE_AGREEMENT = 'judge_agreement';

/** Measures the drawn queries of the trailing week, or of what has been drawn and is kept of it. */
export async function measureJudged(
  { judged, windows, measurements, clock }: JudgingDeps,
  plan: JudgingPlan,
  current: CurrentJudge | null,
): Promise<void> {
  const { pipeline, depth, segmentKeys, maxSegments, retentionDays } = plan;
  const now = clock.now();
  const round = await judged.round(pipeline);
  // The first round only begins.
  if (round === null || round.drawnUntil <= round.startedAt) return;
  const days = Math.min(WINDOW_DAYS, retentionDays);
  const from = new Date(Math.max(round.startedAt.getTime(), round.drawnUntil.getTime() - days * DAY_MS));
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
  const agreement = judgeAgreement(queries, judge);
  const about = { ...whole, measure: JUDGE_AGREEMENT };
  outcomes.push(
    agreement === null
      ? { ...about, kind: 'no_data', reason: plan.judge === null ? 'no_judge' : 'too_few_labels', details: {} }
      : {
          ...about,
          kind: 'value',
          value: agreement.kappa,
          ciLow: agreement.low,
          ciHigh: agreement.high,
          ciMethod: 'jackknife',
          n: agreement.pairs,
          details: { sessions: agreement.sessions },
        },
  );
  const counts = { model: 0, person: 0, people_sessions: peopleSessions(queries) };
  for (const { documents } of queries) {
    if (documents.some(({ model }) => model !== null)) counts.model++;
    if (documents.some(({ person }) => person !== null)) counts.person++;
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

/** Windows are named by whole minutes, so that a retry replaces what it repeats. */
function sameMinute(outcome: MeasurementOutcome): MeasurementOutcome {
  const minute = Math.floor(outcome.windowEnd.getTime() / MINUTE_MS) * MINUTE_MS;
  return { ...outcome, windowEnd: new Date(Math.max(outcome.windowStart.getTime(), minute)) };
}
