/** Judges stored measurements again, with the thresholds of today's config. */
import {
  type BacktestPeriod,
  backtestCheck,
  type CheckBacktest,
  type CheckEvaluation,
} from '../../core/checks/backtest.ts';
import { type Standing, settle } from '../../core/checks/standing.ts';
import { judgeThreshold, type ThresholdCheck } from '../../core/checks/threshold.ts';
import { watchedMeasures } from '../../core/checks/watched-measures.ts';
import type { Measurement } from '../../core/measurement.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Measurements } from '../../ports/measurements.ts';

export interface BacktestThresholdsDeps {
  readonly measurements: Pick<Measurements, 'latest' | 'series'>;
  readonly clock: Clock;
}

export interface BacktestedThresholds {
  readonly pipeline: string;
  readonly thresholds: readonly ThresholdCheck[];
  /** Only measurements whose windows ended at or after this. */
  readonly from: Date;
  readonly period: BacktestPeriod;
}

/**
 * Replays the measurements of every threshold in order, through the functions that judge live ones, hysteresis and
 * confirmation included. Reasons for none are not kept over time, so that silence is seen only as a gap between two
 * measurements. Ages are no measurements; thresholds on them, and those without any measurement, are left out.
 */
export async function backtestThresholds(
  deps: BacktestThresholdsDeps,
  { pipeline, thresholds, from, period }: BacktestedThresholds,
): Promise<CheckBacktest[]> {
  const latest = await deps.measurements.latest(deps.clock.now());
  const found: CheckBacktest[] = [];
  for (const check of thresholds) {
    const isOfTraffic = watchedMeasures[check.measure].of === 'traffic';
    const series = latest.filter(
      (one) =>
        one.pipeline === pipeline &&
        one.measure === check.measure &&
        (one.segment === ALL_SEGMENT || check.segments === 'each' || !isOfTraffic),
    );
    const measured: Measurement[] = [];
    for (const one of series) measured.push(...(await deps.measurements.series(one, from, period.until)));
    const backtest = backtestCheck(replay(check, measured), period);
    if (backtest !== null) found.push(backtest);
  }
  return found;
}

/** Measurements of one moment are of the segments of one window, and judged together. */
function replay(check: ThresholdCheck, measured: readonly Measurement[]): CheckEvaluation[] {
  const moments = new Map<number, Measurement[]>();
  for (const one of measured) {
    const at = one.windowEnd.getTime();
    moments.set(at, [...(moments.get(at) ?? []), one]);
  }
  let standing: Standing | null = null;
  const history: CheckEvaluation[] = [];
  for (const [ms, values] of [...moments].toSorted(([a], [b]) => a - b)) {
    const at = new Date(ms);
    const found = judgeThreshold(
      check,
      values.map(({ segment, value, ciLow, ciHigh, n }) => ({
        kind: 'value',
        segment,
        value,
        ciLow,
        ciHigh,
        n,
      })),
    );
    standing = settle(check, standing, found, at, at);
    const { verdict, explanation } = standing;
    history.push({ at, result: { ...found, verdict, explanation } });
  }
  return history;
}
