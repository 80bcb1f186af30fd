/**
 * Firing alerts on live traffic, and on changes in measures that have no check. Each alert fires under the same
 * conditions as the Prometheus rule for the same problem.
 */

import { capitalized, decimal, formatValue, percentage } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS } from '../../core/time.ts';
import { goldenSetOf } from '../../golden/rules/golden-set.ts';
import { JUDGE_DRIFT } from '../../judging/judge-drift.ts';
import { LIVE_DROP } from '../../judging/measure-judged.ts';
import { DROP_EVIDENCE, type DropDetails, POSITIVE_RATIO } from '../../live/measure-feedback.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { MEASURE_CHANGED } from '../../measures/rules/measure-change.ts';
import { measureRow, titleInLine } from '../../measures/rules/measure-table.ts';
import { type IntervalOf, type MeasurementSeries, measurementTrustSeconds } from '../../measures/rules/measurement.ts';
import { isWatched, trustedWatched, type WatchedValue, watchedValues } from '../../measures/watch-changes.ts';
import { type Alert, type AlertTimeline, alertOf } from './rules/incident.ts';

interface LiveFacts {
  readonly measurements: readonly LatestMeasurement[];
  readonly intervalSeconds: IntervalOf;
}

export function liveAlerts(facts: LiveFacts, now: Date): Alert[] {
  return [
    ...judgedAlerts(facts.measurements, now),
    ...feedbackAlerts(facts.measurements),
    ...changedWatched(facts, now).map(changeAlert),
  ];
}

/** Returns the names of the measures with a change that fires an alert. */
export function changedMeasures(facts: LiveFacts, now: Date): readonly string[] {
  const feedback = feedbackAlerts(facts.measurements).map(() => POSITIVE_RATIO);
  return [...feedback, ...changedWatched(facts, now).map(({ measure }) => measure)];
}

export function changedWatched({ measurements, intervalSeconds }: LiveFacts, now: Date): readonly WatchedValue[] {
  return trustedWatched(
    watchedValues(measurements).filter(({ isChanged }) => isChanged),
    intervalSeconds,
    now,
  );
}

/**
 * Returns an incident's changed measures that have no recent value. Missing data does not resolve an alert. An alert
 * resolves only when the value is normal again, or when recalld no longer watches the measure.
 */
export function unmeasuredChanges(
  timeline: readonly AlertTimeline[],
  { measurements, intervalSeconds }: LiveFacts,
  now: Date,
): readonly AlertTimeline[] {
  const known = trustedWatched(watchedValues(measurements), intervalSeconds, now);
  return timeline.filter(({ rule, currentSeverity, measured }) => {
    if (rule !== MEASURE_CHANGED || currentSeverity === null || measured === undefined) return false;
    const isSame = (one: MeasurementSeries): boolean =>
      one.measure === measured.measure && one.segment === measured.segment;
    return isWatched(measurements, measured) && !known.some(isSame);
  });
}

function changeAlert({ measure, segment, newest: { value }, range: { normal, low, high } }: WatchedValue): Alert {
  const { scale, subject } = measureRow(measure);
  const spell = (number: number): string => formatValue(number, scale);
  const goldenSet = goldenSetOf(segment);
  const of = goldenSet === null ? '' : ` on ${goldenSet}`;
  const isLow = value < normal;
  const threshold = isLow ? low : high;
  return alertOf(
    `${measure}${of} left its normal range`,
    MEASURE_CHANGED,
    `${titleInLine(measure)}${of} ${spell(value)} (normally ${spell(normal)})`,
    `${capitalized(subject)}${of} is ${spell(value)}; values of ${isLow ? 'at least' : 'at most'} ${spell(threshold)} are normal (usual value: ${spell(normal)}).`,
    { goldenSet, value, threshold, measured: { measure, segment } },
  );
}

/**
 * Maximum age at which a measured drop is still trusted. Drops are measured every five minutes, over a window of up to
 * a day.
 */
const DROP_TRUST_SECONDS = 900;

/** Returns the measured drop in positive feedback that fires an alert; null if there is no such drop. */
export function feedbackDrop(measurements: readonly LatestMeasurement[]): LatestMeasurement['newest'] {
  const newest = freshly(measurements, DROP_EVIDENCE);
  return newest === null || newest.value < 1 || newest.ageSeconds > DROP_TRUST_SECONDS ? null : newest;
}

function feedbackAlerts(measurements: readonly LatestMeasurement[]): Alert[] {
  const newest = feedbackDrop(measurements);
  if (newest === null) return [];
  const { baseline_positive_ratio: before, positive_ratio: value } = newest.details as DropDetails;
  const headline = `positive feedback ${percentage(value)}, previously ${percentage(before)}`;
  const text = `${percentage(value)} of the latest feedback is positive; previously, ${percentage(before)} was positive.`;
  const numbers = { value, threshold: before, measured: { measure: POSITIVE_RATIO, segment: ALL_SEGMENT } };
  return [alertOf('positive feedback dropped', 'RecalldFeedbackFell', headline, text, numbers)];
}

function judgedAlerts(measurements: readonly LatestMeasurement[], now: Date): Alert[] {
  const drop = freshly(measurements, LIVE_DROP);
  const state = drop?.details['state'];
  const alerts: Alert[] = [];
  if (drop !== null && (state === 'detected' || state === 'confirmed')) {
    const isConfirmed = state === 'confirmed';
    const by = isConfirmed
      ? 'confirmed by human judgments'
      : 'according to the judge model; not confirmed by human judgments';
    const rule = isConfirmed ? 'RecalldLiveRelevanceFell' : 'RecalldLiveRelevanceFellTicket';
    const headline = `judged nDCG of live queries down by ${decimal(drop.value)}`;
    const text = `Judged nDCG of live queries is ${decimal(drop.value)} lower than in the preceding weeks (${by}).`;
    const severity = isConfirmed ? 'critical' : 'warning';
    const measured = { measure: 'live_ndcg', segment: ALL_SEGMENT };
    const numbers = { severity, value: drop.value, threshold: 0, measured } as const;
    alerts.push(alertOf('live relevance dropped', rule, headline, text, numbers));
  }
  const changedAt = freshly(measurements, JUDGE_DRIFT)?.details['changed_at'];
  if (typeof changedAt === 'string' && now.getTime() - Date.parse(changedAt) < DAY_MS)
    alerts.push(
      alertOf(
        'the judge changed',
        'RecalldJudgeChanged',
        'the judge of live queries changed',
        'The judge model now grades fixed query-document pairs differently, so judged live scores before and after the change are not comparable.',
      ),
    );
  return alerts;
}

/** Returns the newest value over all traffic; null if a later measurement has no value. */
export function valueOf(latest: readonly LatestMeasurement[], measure: string): LatestMeasurement['newest'] {
  const found = latest.find((one) => one.measure === measure && one.segment === ALL_SEGMENT);
  return found === undefined || found.gap !== null ? null : found.newest;
}

/** Returns a value with its 95 % CI. If the value has no CI, both bounds equal the value. */
export function estimateOf({ value, ciLow, ciHigh, n }: NonNullable<LatestMeasurement['newest']>) {
  return { value, ciLow: ciLow ?? value, ciHigh: ciHigh ?? value, n };
}

/** Returns the value as `valueOf` does; null if it is too old to trust. */
export function freshly(latest: readonly LatestMeasurement[], measure: string): LatestMeasurement['newest'] {
  const newest = valueOf(latest, measure);
  return newest === null || newest.ageSeconds > measurementTrustSeconds({ ...newest, measure }, 0) ? null : newest;
}
