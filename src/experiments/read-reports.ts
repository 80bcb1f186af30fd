import type { Context } from '../core/context.ts';
import { RecalldError } from '../core/errors.ts';
import { count, percentage, plural } from '../core/format.ts';
import { DAY_MS } from '../core/time.ts';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import { liveCallsPerDay, startOfUtcDay } from './ask-shadow.ts';
import { comparisonsOf, keyOf } from './context.ts';
import type { VariantPlan } from './plan.ts';
import type { Comparison, ShadowReport, VariantsReport } from './report.ts';
import { compareArms } from './rules/arms.ts';
import { evidenceOfTests, statusOfTests } from './rules/golden-tests.ts';
import { statusOfPairs, type WeightedShare, weightedShare } from './rules/live-pairs.ts';
import { type DaysStatus, type SummedDay, totalOf } from './rules/summed-days.ts';
import { type Evidence, type ExperimentVerdict, FALSE_CALLS, isCalled, verdictOnShadow } from './rules/verdict.ts';
import { judgedSeries, trafficSeries } from './sql/interim-analyses.ts';

const explanations: Readonly<Record<ExperimentVerdict, string>> = {
  regression: 'The candidate is worse.',
  improvement: 'The candidate is better.',
  no_change: 'The candidate is as good as the baseline: any difference is too small to matter.',
  inconclusive: 'Undecided: a relevant difference is neither shown nor excluded.',
  no_data: 'There is too little data.',
};

const LIVE_DAYS = 7;

export async function readShadow(context: Context, pipeline: WatchedPipeline, shadow: Shadow): Promise<ShadowReport> {
  const { db, clock } = context;
  const now = clock.now();
  const key = keyOf(pipeline, shadow);
  const { difference, costPerCall } = shadow;
  const golden: Comparison[] = [];
  for (const own of pipeline.golden) golden.push(await readOnSet(context, pipeline, shadow, own));
  const judged = await readOnJudged(context, pipeline, shadow);
  const today = startOfUtcDay(now);
  let calls = await db.experiments.answers.asked(key, today);
  for (const { set } of pipeline.golden) calls += await db.golden.ticks.requestsSince(shadow.asked.name, set, today);
  const verdict = verdictOnShadow(
    golden.map((one) => one.verdict),
    judged?.verdict ?? null,
  );
  const live = await db.experiments.answers.summary(key, new Date(now.getTime() - LIVE_DAYS * DAY_MS));
  return {
    pipeline: pipeline.name,
    name: shadow.name,
    baseline: pipeline.name,
    verdict,
    explanation: explanations[verdict],
    difference,
    comparisons: judged === null ? golden : [...golden, judged],
    live: {
      days: LIVE_DAYS,
      asked: live?.asked ?? 0,
      failed: live?.failed ?? 0,
      overlap: live === null ? null : shareOf(weightedShare(live, live.overlap)),
      changed: live === null ? null : shareOf(weightedShare(live, live.changed)),
      latency_ms: live?.median == null || live.p95 === null ? null : { median: live.median, p95: live.p95 },
    },
    calls: {
      today: calls,
      max_per_day: shadow.maxCallsPerDay,
      max_live_per_day: await liveCallsPerDay(context.db.golden.sets, pipeline, shadow),
      dollars_today: calls * costPerCall,
      dollars_per_1000: 1000 * costPerCall,
    },
  };
}

function shareOf(share: WeightedShare | null): ShadowReport['live']['overlap'] {
  return share === null ? null : { value: share.value, ci_low: share.low, ci_high: share.high, n: share.n };
}

function comparisonOf(parts: Pick<Comparison, 'source' | 'measure' | 'verdict'> & Partial<Comparison>): Comparison {
  return {
    called_on: null,
    baseline: null,
    candidate: null,
    difference: null,
    ci_low: null,
    ci_high: null,
    n: 0,
    baseline_n: 0,
    measured_until: null,
    smallest_detectable_difference: null,
    evidence: null,
    test: null,
    latest_run: null,
    days: null,
    left_out: 0,
    ...parts,
  };
}

async function readOnSet(
  { db }: Context,
  pipeline: WatchedPipeline,
  shadow: Shadow,
  { set: goldenSet, settings }: WatchedPipeline['golden'][number],
): Promise<Comparison> {
  const tests = await db.experiments.analyses.tests(keyOf(pipeline, shadow), goldenSet);
  const { verdict, by } = statusOfTests(tests);
  const own = { pipeline: shadow.asked.name, goldenSet, limit: 1 } as const;
  const [latest] = await db.golden.runs.list(own);
  const [completed] = await db.golden.runs.list({ ...own, status: 'completed' });
  const evidence = evidenceOfTests(tests, shadow.difference, comparisonsOf(pipeline, shadow));
  const known = {
    source: `golden:${goldenSet}`,
    // Until a test of the set is stored, this is the largest configured cutoff.
    measure: `ndcg@${by?.k ?? Math.max(...settings.cutoffs)}`,
    verdict,
    evidence: explained(evidence, shadow.difference, 'the second run'),
    measured_until: completed?.finishedAt?.toISOString() ?? null,
    smallest_detectable_difference: tests.at(-1)?.smallestDetectableDifference ?? null,
    latest_run: latest === undefined ? null : { run_id: latest.id, status: latest.status, reason: latest.reason },
  };
  if (by === null) return comparisonOf(known);
  const { baseline, candidate, difference, ciLow, ciHigh, n, number, runs: pairs, p, alpha, runId, against } = by;
  return comparisonOf({
    ...known,
    baseline,
    candidate,
    difference,
    n,
    called_on: isCalled(verdict) ? by.analysedAt.toISOString().slice(0, 10) : null,
    ci_low: ciLow,
    ci_high: ciHigh,
    baseline_n: n,
    test: {
      number,
      runs: pairs,
      p,
      alpha,
      version: by.goldenSetVersion,
      ci_method: by.ciMethod,
      run_id: runId,
      baseline_run_id: against,
      latency_p95_ms: await db.golden.runs.latency95(runId),
      baseline_latency_p95_ms: await db.golden.runs.latency95(against),
    },
  });
}

async function readOnJudged({ db }: Context, pipeline: WatchedPipeline, shadow: Shadow): Promise<Comparison | null> {
  const { judgedDepth: k, difference } = shadow;
  if (k === null) return null;
  const days = await db.experiments.analyses.days(keyOf(pipeline, shadow), judgedSeries(k));
  const status = statusOfPairs(days, difference, comparisonsOf(pipeline, shadow));
  const queries = totalOf(days, 'queries');
  return comparisonOf({
    source: 'judged',
    measure: `ndcg@${k}`,
    ...overDays(status, days),
    n: queries,
    baseline_n: queries,
    smallest_detectable_difference: status.smallestDetectableDifference,
    evidence: explained(status.evidence, difference, 'some days with graded queries'),
    days: days.filter(({ counts }) => (counts['queries'] ?? 0) > 0).length,
    left_out: totalOf(days, 'leftOut'),
  });
}

function overDays({ verdict, calledOn, difference, baseline, candidate }: DaysStatus, days: readonly SummedDay[]) {
  const last = days.at(-1)?.day;
  return {
    verdict,
    called_on: calledOn,
    baseline: baseline?.value ?? null,
    candidate: candidate?.value ?? null,
    difference: difference?.value ?? null,
    ci_low: difference?.low ?? null,
    ci_high: difference?.high ?? null,
    measured_until: last === undefined ? null : new Date(Date.parse(last) + DAY_MS).toISOString(),
  };
}

/**
 * @param difference smallest true difference that must be detected
 * @param knownAfter event that makes a forecast of the required time possible, such as `the second run`
 */
function explained(evidence: Evidence, difference: number, knownAfter: string): NonNullable<Comparison['evidence']> {
  const { state } = evidence;
  const isThere = state === 'enough' || state === 'decided';
  return {
    state,
    days: state === 'days' ? evidence.days : isThere ? 0 : null,
    questions: state === 'more_questions' ? evidence.questions : null,
    explanation: sentenceOf(evidence, difference, knownAfter),
  };
}

function sentenceOf(evidence: Evidence, difference: number, knownAfter: string): string {
  switch (evidence.state) {
    case 'decided':
      return 'The comparison is decided.';
    case 'enough':
      return `There is enough evidence: a difference of ${difference} would have been detected with 80 % probability.`;
    case 'days':
      return `In about ${plural(evidence.days, 'day')}, there will be enough evidence to detect a difference of ${difference}.`;
    case 'more_questions':
      return `More runs of the same queries cannot detect a difference of ${difference}; a set of about ${count(evidence.questions)} queries could.`;
    case 'unknown':
      return `The time needed to detect a difference of ${difference} will be known after ${knownAfter}.`;
  }
}

/** @throws RecalldError shadow_unknown with the existing names */
export function findShadow({ name: pipeline, shadows }: WatchedPipeline, name: string): Shadow {
  const found = shadows.find((shadow) => shadow.name === name);
  if (found !== undefined) return found;
  const names = shadows.map((shadow) => shadow.name).join(', ');
  throw new RecalldError(
    'shadow_unknown',
    names === ''
      ? `The pipeline ${pipeline} has no shadows; add "${name}" under its \`shadow\` key.`
      : `The pipeline ${pipeline} has no shadow "${name}"; its shadows are ${names}.`,
  );
}

export async function readVariants({ db }: Context, plan: VariantPlan): Promise<VariantsReport> {
  const days = await db.experiments.analyses.days(plan, trafficSeries);
  const { split, arms } = compareArms(days, plan);
  const mixed = totalOf(days, 'mixed');
  const unnamed = totalOf(days, 'unnamed');
  const first = days.find(
    ({ counts, sums }) => (counts['mixed'] ?? 0) + (counts['unnamed'] ?? 0) > 0 || Object.keys(sums).length > 0,
  );
  const baseline = plan.arms[0]?.name ?? '';
  return {
    pipeline: plan.pipeline,
    tag: plan.experiment,
    first_day: first?.day ?? null,
    last_day: first === undefined ? null : (days.at(-1)?.day ?? null),
    split: {
      verdict: split.verdict,
      explanation: splitSentence(split),
      called_on: split.calledOn,
      arms: [...split.arms],
      mixed_sessions: mixed,
      unnamed_sessions: unnamed,
    },
    difference: plan.difference,
    confidence: 1 - FALSE_CALLS,
    arms: arms.map(({ name, verdict, comparisons }) => ({
      name,
      baseline,
      verdict,
      explanation: explanations[verdict],
      comparisons: comparisons.map((one) =>
        comparisonOf({
          source: 'traffic',
          measure: one.measure === 'ndcg' ? `ndcg@${plan.judged?.depth ?? 0}` : one.measure,
          ...overDays(one, days),
          n: one.candidate?.sessions ?? 0,
          baseline_n: one.baseline?.sessions ?? 0,
          days: days.length,
        }),
      ),
    })),
  };
}

function splitSentence({ verdict, calledOn, arms }: ReturnType<typeof compareArms>['split']): string {
  const found = arms
    .map(({ name, sessions, share, declared }) =>
      share === null
        ? `${name} none`
        : `${name} ${count(sessions)} (${percentage(share)}, declared ${percentage(declared)})`,
    )
    .join(', ');
  switch (verdict) {
    case 'mismatch':
      return `The session split differs from the declared split (detected on ${calledOn ?? ''}): ${found}. Find out which sessions are missing. Until the split is as declared, differences between the arms cannot be trusted.`;
    case 'as_declared':
      return `The session split is as declared: ${found}.`;
    case 'no_data':
      return 'No sessions have been counted yet; recalld counts the sessions of the first day six hours after the day ends.';
  }
}
