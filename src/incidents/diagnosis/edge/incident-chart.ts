/**
 * The chart of an incident, which shows the measure of its worst alert. The chart also shows some time before the
 * incident opened and some time after it closed. For an open incident, the chart ends now.
 */
import type { Context } from '../../../core/context.ts';
import { formatValue, type Unit } from '../../../core/format.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { HOUR_MS } from '../../../core/time.ts';
import { densityLevels } from '../../../density/edge/sections.ts';
import { goldenSetOf } from '../../../golden/rules/golden-set.ts';
import { deploymentMark } from '../../../live/deployments/edge/deployments-page.ts';
import { metricName, parseMetricKey } from '../../../math/ir/metric-key.ts';
import { isStoredMeasure, measureRow } from '../../../measures/rules/measure-table.ts';
import type { TrendLevel, TrendMark, TrendPoint } from '../../../report/model/charts.ts';
import { measureChart } from '../../../report/model/measures.ts';
import { type AlertTimeline, type Incident, type Measured, worstAlert } from '../rules/incident.ts';

/** Minimum time that is shown before the incident opened. */
const BEFORE_MS = 6 * HOUR_MS;
/** Minimum number of scheduled runs that are shown before the incident opened, for a measure of a golden set. */
const BEFORE_RUNS = 16;
const MAX_DEPLOYMENTS = 20;

/** Returns null if the alert has no measure, or if the measure has no value in this period. */
export async function readIncidentChart({ db, intervalSeconds }: Context, incident: Incident, now: Date) {
  const { id, pipeline, openedAt, closedAt } = incident;
  const alert = worstAlert(incident);
  if (alert?.measured === undefined) return null;
  const { measured } = alert;
  const goldenSet = goldenSetOf(measured.segment);
  const interval = goldenSet === null ? null : intervalSeconds(pipeline, goldenSet);
  const from = new Date(openedAt.getTime() - Math.max(BEFORE_MS, BEFORE_RUNS * 1000 * (interval ?? 0)));
  const until = closedAt === null ? now : shownUntil(openedAt, closedAt, now);
  const [points, baseline, deployments] = await Promise.all([
    readPoints(db, pipeline, measured, from, until),
    baselineOf(db, alert),
    db.live.deployments.list({ pipeline, since: from, limit: MAX_DEPLOYMENTS }),
  ]);
  if (points.length === 0) return null;
  const marks = inOrder([
    ...deployments.filter(({ occurredAt }) => occurredAt <= until).map(deploymentMark),
    { at: openedAt, text: 'incident opened', kind: 'onset' },
    ...(closedAt === null ? [] : [{ at: closedAt, text: 'incident closed', kind: 'resolved' as const }]),
  ]);
  const unit = unitOf(measured);
  const levels = levelsOf(alert, baseline);
  const shape = {
    id: `incident-${id}`,
    title: titleOf(measured),
    marks,
    levels,
    limits: limitsOf(unit),
    unit,
    empty: '',
  };
  return { ...measureChart(measured.measure, points, shape), from, until };
}

export function inOrder(marks: readonly TrendMark[]): TrendMark[] {
  return marks.toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

/**
 * Returns the time at which the chart of a closed incident ends. The chart continues after the incident for a quarter
 * of the incident's duration, and for at least half an hour, but never beyond the current time.
 */
function shownUntil(openedAt: Date, closedAt: Date, now: Date): Date {
  const after = closedAt.getTime() + (closedAt.getTime() - openedAt.getTime()) / 4;
  return new Date(Math.min(now.getTime(), Math.max(after, closedAt.getTime() + HOUR_MS / 2)));
}

async function readPoints(
  db: Context['db'],
  pipeline: string,
  { measure, segment }: Measured,
  from: Date,
  until: Date,
): Promise<readonly TrendPoint[]> {
  const goldenSet = goldenSetOf(segment);
  if (goldenSet === null || isStoredMeasure(measure)) {
    const trends = await db.measurements.trends({ pipeline, segment, measures: [measure] }, from, until);
    return trends.get(measure) ?? [];
  }
  const { measure: score, k } = parseMetricKey(measure);
  const trends = await db.golden.runReads.trends({ pipeline, goldenSet, from, until, measures: [score], k });
  return trends.get(score) ?? [];
}

/** Returns the score of the baseline run of a regression check; null for other checks. */
async function baselineOf(db: Context['db'], { worst, measured }: AlertTimeline): Promise<number | null> {
  if (worst.comparedWith == null || measured === undefined) return null;
  const { measure, k } = parseMetricKey(measured.measure);
  const scores = await db.golden.runs.scores(worst.comparedWith);
  return scores.find((one) => one.segment === ALL_SEGMENT && one.measure === measure && one.k === k)?.mean ?? null;
}

/** Returns the unit of a measure. Golden scores are not in the measure table, so their unit is set here. */
function unitOf({ measure }: Measured): Unit {
  return isStoredMeasure(measure) ? measureRow(measure).scale : 'score';
}

function limitsOf(unit: Unit): readonly [number | null, number | null] {
  if (unit === 'share' || unit === 'score') return [0, 1];
  return unit === 'seconds' || unit === 'count' ? [0, null] : [null, null];
}

/**
 * Returns the horizontal lines of the chart. A regression check has its threshold relative to the baseline. A density
 * drift check has a threshold for its test statistic, so a chart of density shows the level of the baseline instead.
 */
function levelsOf(
  { worst, measured, rule, severity: severityOfAlert }: AlertTimeline,
  baseline: number | null,
): readonly TrendLevel[] {
  if (measured === undefined) return [];
  if (rule.startsWith('RecalldDensityDrift')) return densityLevels[measured.measure] ?? [];
  const { threshold, comparedWith = null } = worst;
  const unit = unitOf(measured);
  const level = (value: number, text: string, severity: TrendLevel['severity']): TrendLevel => ({
    value,
    text: `${text} ${formatValue(value, unit)}`,
    severity,
  });
  if (comparedWith === null) return threshold === null ? [] : [level(threshold, 'threshold', severityOfAlert)];
  if (baseline === null) return [];
  return [
    level(baseline, 'baseline', null),
    ...(threshold === null ? [] : [level(baseline + threshold, 'threshold', severityOfAlert)]),
  ];
}

function titleOf({ measure, segment }: Measured): string {
  const goldenSet = goldenSetOf(segment);
  const name = isStoredMeasure(measure) ? measureRow(measure).title : metricName(measure);
  const where = goldenSet === null ? (segment === ALL_SEGMENT ? '' : ` (${segment})`) : ` on ${goldenSet}`;
  return `${name}${where}`;
}
