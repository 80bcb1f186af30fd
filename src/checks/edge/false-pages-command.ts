/** Expected false pages of a config, printed by `recalld config check` as a table or as JSON. */
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { periodBudget } from '../../app/config/alerts.ts';
import { formatTable } from '../../cli/output.ts';
import { decimal } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { systemClock } from '../../core/system-clock.ts';
import { DAY_MS } from '../../core/time.ts';
import { createDensityPlans, type DensityPlan } from '../../density/plan.ts';
import type { FalsePageBudget } from '../../density/rules/alert.ts';
import { isQuiet } from '../../golden/rules/schedule.ts';
import type { LatestRun } from '../../golden/sql/latest-runs.ts';
import type { GoldenSchedule, WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { liveIntervalSeconds } from '../../live/live-jobs.ts';
import { parseMetricKey } from '../../math/ir/metric-key.ts';
import { occurrencesBetween } from '../../math/schedule/occurrences.ts';
import type { ThresholdPolicy } from '../../measures/rules/measure-row.ts';
import { thresholdPolicy } from '../../measures/rules/measure-table.ts';
import { INTERVALS_TO_TRUST, measurementTrustSeconds } from '../../measures/rules/measurement.ts';
import {
  acceptedFalsePages,
  type BoundedEvaluations,
  type CheckExpectation,
  COUNTED_DAYS,
  COUNTED_MS,
  falseBreaches,
  falseRegressions,
  marginNeeded,
  NEXT_TO_NONE,
  type PipelineExpectation,
} from '../rules/false-pages.ts';
import { type FloorCheck, type GoldenCheck, goldenCheckName } from '../rules/golden-checks.ts';
import { isolationCheckName } from '../rules/isolation-check.ts';
import { type ThresholdCheck, thresholdCheckName } from '../rules/threshold.ts';

interface ExpectationInputs {
  readonly now: Date;
  readonly densityPlans: readonly DensityPlan[];
  readonly liveIntervalSeconds: number;
  /** Latest runs, which show how far each score is from its threshold; null if they were not read. */
  readonly latest: readonly LatestRun[] | null;
  /** Accepted rate of false pages for one pipeline. */
  readonly budget: FalsePageBudget;
}

const UNSCHEDULED = 'because no golden run is scheduled';
const NOISY = 'if the retriever returns different results for the same query; otherwise none';

/** Computes the expected false pages of a pipeline. Excludes warnings, which do not page. */
export function expectFalsePages(deps: ExpectationInputs, pipeline: WatchedPipeline): PipelineExpectation {
  const runs = new Map(pipeline.golden.map((golden) => [golden.set, runsAhead(deps, golden)]));
  const checks = [
    ...[...runs].flatMap(([set, evaluations]) =>
      pipeline.checks.filter(isCritical).map((check): CheckExpectation => {
        const name = goldenCheckName(check, set);
        return { name, ...expectGolden(deps, { pipeline: pipeline.name, set, name }, check, evaluations) };
      }),
    ),
    ...pipeline.thresholds
      .filter(isCritical)
      .map((check) => ({ name: thresholdCheckName(check), ...expectThreshold(deps, pipeline, check, runs) })),
    ...pipeline.isolation.map(({ name }) => ({
      name: isolationCheckName(name),
      ...certain('because ids are compared exactly'),
    })),
    ...deps.densityPlans
      .filter((plan) => plan.pipeline === pipeline.name && plan.severity === 'critical')
      .map(({ budget, monitors, checkName: name }) => ({
        name,
        evaluations: null,
        expected: acceptedFalsePages(budget, COUNTED_MS) / monitors,
        assumption:
          monitors > 1 ? `because alerts.false_pages.drift is divided equally among ${monitors} pipelines` : '',
        fix: 'lower `alerts.false_pages.drift`',
      })),
  ];
  const expected = checks.reduce((sum, check) => sum + (check.expected ?? 0), 0);
  return { pipeline: pipeline.name, checks, expected, accepted: acceptedFalsePages(deps.budget, COUNTED_MS) };
}

function isCritical({ severity }: { readonly severity: string }): boolean {
  return severity === 'critical';
}

type Expectation = Omit<CheckExpectation, 'name'>;

type CheckOnSet = Readonly<Record<'pipeline' | 'set' | 'name', string>>;

function expectGolden(
  deps: ExpectationInputs,
  where: CheckOnSet,
  check: GoldenCheck,
  evaluations: number,
): Expectation {
  switch (check.kind) {
    case 'floor':
      return { evaluations, ...expectScore(deps, where, check, evaluations) };
    case 'regression':
      return {
        evaluations,
        expected: falseRegressions(check, evaluations),
        assumption: evaluations === 0 ? UNSCHEDULED : NOISY,
        fix: 'raise `runs`, lower `alpha`',
      };
    case 'stale_labels':
    case 'forbidden_results':
      return certain('because documents are counted exactly');
  }
}

function certain(assumption: string): Expectation {
  return { evaluations: null, expected: 0, assumption, fix: '' };
}

function expectScore(
  { latest }: ExpectationInputs,
  { pipeline, set, name }: CheckOnSet,
  check: FloorCheck,
  evaluations: number,
): Omit<Expectation, 'evaluations'> {
  const bounded = { evaluations, confirm: 1, values: 1 };
  const fix = 'lower the threshold';
  const run = latest?.find((one) => one.pipeline === pipeline && one.goldenSet === set) ?? null;
  const key = parseMetricKey(check.measure);
  const score = run?.completed?.scores.find(
    ({ segment, measure, k }) => segment === ALL_SEGMENT && measure === key.measure && k === key.k,
  );
  if (score === undefined) return { ...withMargin(bounded, 'score', 'above the threshold'), fix };
  // The threshold of the latest run applies, because a new golden set version shifts the threshold.
  const threshold = run?.ended?.checks.find((one) => one.name === name)?.threshold ?? check.below;
  const above = score.mean - threshold;
  const half = score.ciHigh - score.mean;
  const known = `${decimal(score.mean)} (n = ${score.n})`;
  if (above < 0) {
    const assumption = `because the latest score of ${known} is below the threshold, so a page would be justified`;
    return { expected: null, assumption, fix };
  }
  const margin = half > 0 ? above / half : Number.POSITIVE_INFINITY;
  const distance =
    half > 0
      ? `above the threshold by ${decimal(margin)} times its 95 % margin of error`
      : 'certainly above the threshold';
  const assumption = `as long as the score stays at its latest value of ${known}, which is ${distance}`;
  return { expected: falseBreaches(bounded, margin), assumption, fix };
}

function withMargin(bounded: BoundedEvaluations, what: string, where: string) {
  if (bounded.evaluations === 0) return { expected: 0, assumption: UNSCHEDULED };
  const widths = decimal(Math.ceil(marginNeeded(bounded) * 10) / 10);
  return {
    expected: NEXT_TO_NONE,
    assumption: `as long as the usual ${what} is ${where} by at least ${widths} times its 95 % margin of error`,
  };
}

function expectThreshold(
  deps: ExpectationInputs,
  pipeline: WatchedPipeline,
  check: ThresholdCheck,
  runs: ReadonlyMap<string, number>,
): Expectation {
  const watched: ThresholdPolicy = thresholdPolicy(check.measure);
  if (check.measure.endsWith('_age_seconds')) return certain('because ages are measured exactly');
  const evaluations = check.measure.startsWith('retriever_')
    ? [...runs.values()].reduce((sum, of) => sum + of, 0)
    : Math.round(COUNTED_MS / 1000 / intervalSeconds(deps, pipeline.name, check));
  const fix = 'raise `confirm`, move the threshold';
  if (check.measure === 'retriever_latency_p95_seconds') {
    const assumption =
      'because this latency has no confidence interval; `recalld backtest` shows how often the check would have failed';
    return { evaluations, expected: null, assumption, fix };
  }
  // The 95 % intervals of shares hold simultaneously for all segments; those of other measures hold for each segment
  // individually.
  const plan = deps.densityPlans.find((one) => one.pipeline === pipeline.name);
  const values = check.segments === 'each' && watched.unit !== 'share' ? 1 + (plan?.maxSegments ?? 0) : 1;
  const where = `${watched.worse === 'below' ? 'above' : 'below'} the threshold`;
  return { evaluations, fix, ...withMargin({ evaluations, confirm: check.confirm, values }, 'value', where) };
}

/** Returns the number of seconds between two measurements, derived from how long a measurement is trusted. */
function intervalSeconds(
  { densityPlans, liveIntervalSeconds }: ExpectationInputs,
  pipeline: string,
  { measure }: ThresholdCheck,
): number {
  const windowMs = densityPlans.find((plan) => plan.pipeline === pipeline)?.windowMs ?? 0;
  const window = { windowStart: new Date(0), windowEnd: new Date(windowMs) };
  return measurementTrustSeconds({ measure, ...window }, liveIntervalSeconds) / INTERVALS_TO_TRUST;
}

/**
 * Maximum number of weekly runs for which every run in the 90 days is counted. With more runs (more than one an hour),
 * the count of one week is extrapolated.
 */
const DENSE = 200;

/**
 * Counts the full runs that are scheduled for the next 90 days. Excludes manual runs and runs that a sentinel starts.
 */
function runsAhead({ now }: ExpectationInputs, { cron, quietHours, timezone }: GoldenSchedule): number {
  if (cron === null) return 0;
  const ticksWithin = (days: number): readonly Date[] =>
    occurrencesBetween(cron, now, new Date(now.getTime() + days * DAY_MS));
  const week = ticksWithin(7);
  const [ticks, times] = week.length > DENSE ? [week, COUNTED_DAYS / 7] : [ticksWithin(COUNTED_DAYS), 1];
  return Math.round(ticks.filter((tick) => !isQuiet(quietHours, timezone, tick)).length * times);
}

/**
 * Computes the expected false pages of each configured pipeline.
 *
 * @param useRuns true to read the latest runs from the database, which show how far each score is from its threshold
 * @throws the errors of withCommandStore, if `useRuns` is true
 */
export async function expectFalsePagesOf(
  settings: CommandSettings,
  pipelines: readonly WatchedPipeline[],
  useRuns: boolean,
): Promise<PipelineExpectation[]> {
  const { config } = settings;
  const deps = {
    now: systemClock.now(),
    densityPlans: createDensityPlans(config, pipelines),
    liveIntervalSeconds: liveIntervalSeconds(systemClock.now()),
    latest: useRuns ? await withCommandStore(settings, ({ db }) => db.golden.runs.latest()) : null,
    budget: periodBudget(config.alerts.false_pages.per_pipeline),
  };
  return pipelines.map((pipeline) => expectFalsePages(deps, pipeline));
}

/**
 * Formats a table of the checks that can page, the assumptions behind the numbers, and a warning for each pipeline
 * above its budget. Returns an empty string if no check can page.
 */
export function formatFalsePages(pipelines: readonly PipelineExpectation[], budget: string): string {
  const paging = pipelines.filter(({ checks }) => checks.length > 0);
  if (paging.length === 0) return '';
  const rows = paging.flatMap(({ pipeline, checks, expected, accepted }) => [
    ...checks.map((check, index) => [
      index === 0 ? pipeline : '',
      check.name,
      check.evaluations === null ? '-' : `${check.evaluations}`,
      expectedText(check),
    ]),
    ['', `total, ${decimal(accepted)} accepted`, '', decimal(expected)],
  ]);
  const head = ['pipeline', 'check', `evaluations in ${COUNTED_DAYS} days`, `expected false pages`];
  const assumptions = paging.flatMap(({ pipeline, checks }) =>
    checks
      .filter(({ assumption }) => assumption !== '')
      .map((check) => `${pipeline}, ${check.name}: ${expectedText(check)} ${check.assumption}.`),
  );
  const warnings = paging.flatMap((of) => warningOf(of, budget) ?? []);
  return [
    formatTable(head, rows, 2),
    ...(assumptions.length === 0 ? [] : ['', ...assumptions]),
    ...(warnings.length === 0 ? [] : ['', ...warnings.map((sentence) => `Warning: ${sentence}`)]),
  ].join('\n');
}

/** Returns a warning with a fix if more false pages are expected than accepted, otherwise null. */
function warningOf({ pipeline, checks, expected, accepted }: PipelineExpectation, budget: string): string | null {
  if (expected <= accepted) return null;
  const worst = checks.reduce((a, b) => ((b.expected ?? 0) > (a.expected ?? 0) ? b : a));
  return (
    `${pipeline} will cause about ${decimal(expected)} false pages in ${COUNTED_DAYS} days, more than ` +
    `alerts.false_pages.per_pipeline (${budget}) accepts. For ${worst.name}, ${worst.fix}, or set \`severity: warning\`.`
  );
}

export function falsePagesJson(of: PipelineExpectation, budget: string) {
  return {
    pipeline: of.pipeline,
    days: COUNTED_DAYS,
    expected: of.expected,
    accepted: of.accepted,
    warning: warningOf(of, budget),
    checks: of.checks.map(({ fix: _fix, ...check }) => check),
  };
}

function expectedText({ expected }: CheckExpectation): string {
  return expected === null ? 'unknown' : decimal(expected);
}
