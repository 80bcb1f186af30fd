/** What `recalld config check` tells of the false pages of a config, as a table for people and as JSON. */
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { periodBudget } from '../../app/config/alerts.ts';
import { formatTable } from '../../cli/output.ts';
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
  NEXT_TO_NONE,
  type PipelineExpectation,
  roomNeeded,
} from '../rules/false-pages.ts';
import { type FloorCheck, type GoldenCheck, goldenCheckName } from '../rules/golden-checks.ts';
import { type ThresholdCheck, thresholdCheckName } from '../rules/threshold.ts';

/** The checks of a config -> how many false pages to expect of them, held against what is accepted. */
interface ExpectFalsePagesDeps {
  readonly now: Date;
  readonly densityPlans: readonly DensityPlan[];
  readonly liveIntervalSeconds: number;
  /** Runs whose scores tell how much room the floors have; null when nobody looked. */
  readonly latest: readonly LatestRun[] | null;
  /** What is accepted of one pipeline. */
  readonly budget: FalsePageBudget;
}

const UNSCHEDULED = 'because nothing is measured by schedule';
const NOISY = 'when the retriever answers the same question differently; else there are none';

/** Expects the false pages of one pipeline. Warnings page nobody and are left out. */
export function expectFalsePages(deps: ExpectFalsePagesDeps, pipeline: WatchedPipeline): PipelineExpectation {
  const runs = new Map(pipeline.golden.map((golden) => [golden.set, runsAhead(deps, golden)]));
  const checks = [
    ...[...runs].flatMap(([set, looks]) =>
      pipeline.checks.filter(isCritical).map((check): CheckExpectation => {
        const name = goldenCheckName(check, set);
        return { name, ...ofGolden(deps, { pipeline: pipeline.name, set, name }, check, looks) };
      }),
    ),
    ...pipeline.thresholds
      .filter(isCritical)
      .map((check) => ({ name: thresholdCheckName(check), ...ofThreshold(deps, pipeline, check, runs) })),
    ...deps.densityPlans
      .filter((plan) => plan.pipeline === pipeline.name && plan.severity === 'critical')
      .map(({ budget, monitors, checkName: name }) => ({
        name,
        looks: null,
        expected: acceptedFalsePages(budget, COUNTED_MS) / monitors,
        proviso: monitors > 1 ? `as its part of alerts.false_pages.drift, which ${monitors} pipelines share` : '',
        remedy: 'lower `alerts.false_pages.drift`',
      })),
  ];
  const expected = checks.reduce((sum, check) => sum + (check.expected ?? 0), 0);
  return { pipeline: pipeline.name, checks, expected, accepted: acceptedFalsePages(deps.budget, COUNTED_MS) };
}

function isCritical({ severity }: { readonly severity: string }): boolean {
  return severity === 'critical';
}

type Expectation = Omit<CheckExpectation, 'name'>;

/** One check on one golden set. */
interface JudgedOnSet {
  readonly pipeline: string;
  readonly set: string;
  readonly name: string;
}

function ofGolden(deps: ExpectFalsePagesDeps, where: JudgedOnSet, check: GoldenCheck, looks: number): Expectation {
  switch (check.kind) {
    case 'floor':
      return { looks, ...ofFloor(deps, where, check, looks) };
    case 'regression':
      return {
        looks,
        expected: falseRegressions(check, looks),
        proviso: looks === 0 ? UNSCHEDULED : NOISY,
        remedy: 'raise `runs`, lower `alpha`',
      };
    case 'stale_labels':
      return certain('because documents are counted, not estimated');
    case 'forbidden_results':
      return certain('because a document that came back twice came back');
  }
}

function certain(proviso: string): Expectation {
  return { looks: null, expected: 0, proviso, remedy: '' };
}

function ofFloor(
  { latest }: ExpectFalsePagesDeps,
  { pipeline, set, name }: JudgedOnSet,
  check: FloorCheck,
  looks: number,
): Omit<Expectation, 'looks'> {
  const bounded = { looks, confirm: 1, values: 1 };
  const remedy = 'lower the floor';
  const run = latest?.find((one) => one.pipeline === pipeline && one.goldenSet === set) ?? null;
  const key = parseMetricKey(check.measure);
  const score = run?.completed?.scores.find(
    ({ segment, measure, k }) => segment === ALL_SEGMENT && measure === key.measure && k === key.k,
  );
  if (score === undefined) return { ...withRoom(bounded, 'score', 'above the floor'), remedy };
  // The floor of a rotated set has moved with its level.
  const floor = run?.ended?.checks.find((one) => one.name === name)?.threshold ?? check.below;
  const above = score.mean - floor;
  const half = score.ciHigh - score.mean;
  const known = `${score.mean.toFixed(4)} (n = ${score.n})`;
  if (above < 0) {
    const proviso = `because the latest score, ${known}, is below the floor, so that a page is not false`;
    return { expected: null, proviso, remedy };
  }
  const room = half > 0 ? above / half : Number.POSITIVE_INFINITY;
  const widths = Number.isFinite(room) ? `${room.toFixed(1)} half-widths of its 95 % interval` : 'certainly';
  const proviso = `while the score stays at the latest, ${known}, ${widths} above the floor`;
  return { expected: falseBreaches(bounded, room), proviso, remedy };
}

function withRoom(looks: BoundedEvaluations, what: string, where: string): Pick<Expectation, 'expected' | 'proviso'> {
  if (looks.looks === 0) return { expected: 0, proviso: UNSCHEDULED };
  const widths = (Math.ceil(roomNeeded(looks) * 10) / 10).toFixed(1);
  return {
    expected: NEXT_TO_NONE,
    proviso: `while the usual ${what} is at least ${widths} half-widths of its 95 % interval ${where}`,
  };
}

function ofThreshold(
  deps: ExpectFalsePagesDeps,
  pipeline: WatchedPipeline,
  check: ThresholdCheck,
  runs: ReadonlyMap<string, number>,
): Expectation {
  const watched: ThresholdPolicy = thresholdPolicy(check.measure);
  if (check.measure.endsWith('_age_seconds')) return certain('because a time that passed is no estimate');
  const looks = check.measure.startsWith('retriever_')
    ? [...runs.values()].reduce((sum, of) => sum + of, 0)
    : Math.round(COUNTED_MS / 1000 / intervalSeconds(deps, pipeline.name, check));
  const remedy = 'raise `confirm`, move the threshold';
  if (check.measure === 'retriever_latency_p95_seconds') {
    return { looks, expected: null, proviso: 'because it has no interval; `recalld backtest` tells', remedy };
  }
  // Of several segments, shares have the intervals of a family, and other measures each its own.
  const plan = deps.densityPlans.find((one) => one.pipeline === pipeline.name);
  const values = check.segments === 'each' && watched.unit !== 'share' ? 1 + (plan?.maxSegments ?? 0) : 1;
  const where = `${watched.worse === 'below' ? 'above' : 'below'} the threshold`;
  return { looks, remedy, ...withRoom({ looks, confirm: check.confirm, values }, 'value', where) };
}

/** What passes between two measurements, by how long one is trusted. */
function intervalSeconds(
  { densityPlans, liveIntervalSeconds }: ExpectFalsePagesDeps,
  pipeline: string,
  { measure }: ThresholdCheck,
): number {
  const windowMs = densityPlans.find((plan) => plan.pipeline === pipeline)?.windowMs ?? 0;
  const window = { windowStart: new Date(0), windowEnd: new Date(windowMs) };
  return measurementTrustSeconds({ measure, ...window }, liveIntervalSeconds) / INTERVALS_TO_TRUST;
}

/** Ticks of a week from which on the other weeks are taken to be like it: more than one an hour. */
const DENSE = 200;

/** Full runs that the schedule starts in the 90 days ahead; those by hand and by fallen sentinels come on top. */
function runsAhead({ now }: ExpectFalsePagesDeps, { cron, quietHours, timezone }: GoldenSchedule): number {
  if (cron === null) return 0;
  const ticksWithin = (days: number): readonly Date[] =>
    occurrencesBetween(cron, now, new Date(now.getTime() + days * DAY_MS));
  const week = ticksWithin(7);
  const [ticks, times] = week.length > DENSE ? [week, COUNTED_DAYS / 7] : [ticksWithin(COUNTED_DAYS), 1];
  return Math.round(ticks.filter((tick) => !isQuiet(quietHours, timezone, tick)).length * times);
}

/**
 * Expects the false pages of each pipeline of the config.
 *
 * @param useRuns whether the latest stored runs tell how much room floors have, which takes the database
 * @throws RecalldError as withCommandStore, with `useRuns`
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
 * A table of the checks that page and their sum, what the numbers rest on, and a warning for each pipeline above its
 * budget; empty when no check pages.
 */
export function formatFalsePages(pipelines: readonly PipelineExpectation[], budget: string): string {
  const paging = pipelines.filter(({ checks }) => checks.length > 0);
  if (paging.length === 0) return '';
  const rows = paging.flatMap(({ pipeline, checks, expected, accepted }) => [
    ...checks.map((check, index) => [
      index === 0 ? pipeline : '',
      check.name,
      check.looks === null ? '-' : `${check.looks}`,
      check.expected === null ? 'not known' : format(check.expected),
    ]),
    ['', `all, of ${format(accepted)} accepted`, '', format(expected)],
  ]);
  const head = ['pipeline', 'check', `looks in ${COUNTED_DAYS} days`, `false pages in ${COUNTED_DAYS} days`];
  const provisos = paging.flatMap(({ pipeline, checks }) =>
    checks
      .filter(({ proviso }) => proviso !== '')
      .map(({ name, expected, proviso }) => `${pipeline}, ${name}: ${told(expected)} ${proviso}.`),
  );
  const warnings = paging.flatMap((of) => warningOf(of, budget) ?? []);
  return [
    formatTable(head, rows, 2),
    ...(provisos.length === 0 ? [] : ['', ...provisos]),
    ...(warnings.length === 0 ? [] : ['', ...warnings.map((sentence) => `Warning: ${sentence}`)]),
  ].join('\n');
}

/** A sentence with the way out when more is expected than accepted, else null. */
function warningOf({ pipeline, checks, expected, accepted }: PipelineExpectation, budget: string): string | null {
  if (expected <= accepted) return null;
  const worst = checks.reduce((a, b) => ((b.expected ?? 0) > (a.expected ?? 0) ? b : a));
  return (
    `${pipeline} is expected to page ${format(expected)} times in ${COUNTED_DAYS} days with nothing wrong, above ` +
    `alerts.false_pages.per_pipeline (${budget}). Of ${worst.name}, ${worst.remedy} or make it a warning.`
  );
}

export function falsePagesJson(of: PipelineExpectation, budget: string) {
  return {
    pipeline: of.pipeline,
    days: COUNTED_DAYS,
    expected: of.expected,
    accepted: of.accepted,
    warning: warningOf(of, budget),
    checks: of.checks.map(({ name, looks, expected, proviso }) => ({ name, looks, expected, proviso })),
  };
}

function told(expected: CheckExpectation['expected']): string {
  return expected === null ? 'not known' : format(expected);
}

function format(pages: number): string {
  return pages.toFixed(2);
}
