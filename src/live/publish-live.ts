/** Stored measurements of live traffic -> metric samples. What is too old to trust is withheld. */

import type { MeasuredRows } from '../measures/gauges.ts';
import { valueSamples } from '../measures/gauges.ts';
import type { LatestMeasurement } from '../measures/ports/measurements.ts';
import { ageSeconds, INTERVALS_TO_TRUST } from '../measures/rules/trust.ts';
import type { GaugesAt } from '../metrics/meter.ts';
import { type GaugeSample, sample } from '../metrics/meter.ts';
import { SAMPLES_READ } from './measure-live-traffic.ts';
import { type LiveMeasure, liveMeasures } from './rules/live-measures.ts';

export interface LiveGaugesSettings {
  /** Names of the pipelines of the config; what is stored of others is left out. */
  readonly pipelines: readonly string[];
  /** Longest gap between two measurements by the schedule. */
  readonly intervalSeconds: number;
}

/** Every gauge of live traffic. */
export function liveGauges(
  { pipelines, intervalSeconds }: LiveGaugesSettings,
  { measurements }: MeasuredRows,
): GaugesAt {
  const watched = new Set(pipelines);
  const own = measurements.filter(({ pipeline }) => watched.has(pipeline));
  return (now) => {
    const isTrusted: IsTrusted = ({ measuredAt }) =>
      ageSeconds(measuredAt, now) <= INTERVALS_TO_TRUST * intervalSeconds;
    return own.flatMap((one) => {
      if (one.measure === SAMPLES_READ) return upkeepSamples(one, isTrusted);
      return isLive(one.measure) ? measureSamples(one, one.measure, isTrusted) : [];
    });
  };
}

type IsTrusted = (last: { readonly measuredAt: Date }) => boolean;

function measureSamples(
  { pipeline, segment, newest, gap }: LatestMeasurement,
  measure: LiveMeasure,
  isTrusted: IsTrusted,
): GaugeSample[] {
  const labels = { pipeline, segment };
  if (gap !== null) {
    if (!isTrusted(gap)) return [];
    return [sample('recalld_live_measure_no_data', { ...labels, measure, reason: gap.reason }, 1)];
  }
  if (newest === null || !isTrusted(newest)) return [];
  return [
    ...valueSamples({ pipeline, segment, measure, newest }),
    sample('recalld_live_measure_samples', { ...labels, measure }, newest.n),
  ];
}

/** When a pipeline was last measured is told however long ago it was: it is what an alert waits for. */
function upkeepSamples({ pipeline, newest }: LatestMeasurement, isTrusted: IsTrusted): GaugeSample[] {
  if (newest === null) return [];
  const measuredAt = newest.measuredAt.getTime() / 1000;
  const last = sample('recalld_live_measure_last_success_timestamp_seconds', { pipeline }, measuredAt);
  if (!isTrusted(newest)) return [last];
  return [last, sample('recalld_live_measure_samples_read_ratio', { pipeline }, newest.value)];
}

function isLive(measure: string): measure is LiveMeasure {
  return (liveMeasures as readonly string[]).includes(measure);
}
