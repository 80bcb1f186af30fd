/** Stored measurements of live traffic -> metric samples. What is too old to trust is withheld. */
import { type LiveMeasure, liveMeasures } from '../../core/live/live-measures.ts';
import type { LiveGaugeName } from '../../metrics/live-measures.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LatestMeasurement, Measurements } from '../../ports/measurements.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';
import { INTERVALS_TO_TRUST } from '../checks/trust.ts';
import { SAMPLES_READ } from '../live/measure-live-traffic.ts';

const gaugeOf = {
  queries: 'recalld_query_volume',
  zero_results_ratio: 'recalld_query_zero_results_ratio',
  error_ratio: 'recalld_query_error_ratio',
  click_through_ratio: 'recalld_feedback_click_through_ratio',
  clicked_query_ratio: 'recalld_feedback_clicked_query_ratio',
  clicked_reciprocal_rank: 'recalld_feedback_clicked_reciprocal_rank',
  clicks_over_expected_ratio: 'recalld_feedback_clicks_over_expected_ratio',
} as const satisfies Record<LiveMeasure, LiveGaugeName>;

export interface LiveGaugesDeps {
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly clock: Clock;
  /** Names of the pipelines of the config; what is stored of others is left out. */
  readonly pipelines: readonly string[];
  /** Longest gap between two measurements by the schedule. */
  readonly intervalSeconds: number;
}

/** Every gauge of live traffic as it is now. */
export async function readLiveGauges(deps: LiveGaugesDeps): Promise<GaugeSample[]> {
  const watched = new Set(deps.pipelines);
  const latest = (await deps.measurements.latest(deps.clock.now())).filter(({ pipeline }) =>
    watched.has(pipeline),
  );
  const longestSeconds = INTERVALS_TO_TRUST * deps.intervalSeconds;
  return latest.flatMap((one) => {
    if (one.measure === SAMPLES_READ) return upkeepSamples(one, longestSeconds);
    return isLive(one.measure) ? measureSamples(one, one.measure, longestSeconds) : [];
  });
}

function measureSamples(
  { pipeline, segment, newest, gap }: LatestMeasurement,
  measure: LiveMeasure,
  longestSeconds: number,
): GaugeSample[] {
  const labels = { pipeline, segment };
  if (gap !== null) {
    if (gap.ageSeconds > longestSeconds) return [];
    return [sample('recalld_live_measure_no_data', { ...labels, measure, reason: gap.reason }, 1)];
  }
  if (newest === null || newest.ageSeconds > longestSeconds) return [];
  const { value, ciLow, ciHigh, n } = newest;
  const name = gaugeOf[measure];
  return [
    sample(name, labels, value),
    ...(ciLow === null ? [] : [sample(`${name}_ci_low`, labels, ciLow)]),
    ...(ciHigh === null ? [] : [sample(`${name}_ci_high`, labels, ciHigh)]),
    sample('recalld_live_measure_samples', { ...labels, measure }, n),
  ];
}

/** When a pipeline was last measured is told however long ago it was: it is what an alert waits for. */
function upkeepSamples({ pipeline, newest }: LatestMeasurement, longestSeconds: number): GaugeSample[] {
  if (newest === null) return [];
  const measuredAt = newest.measuredAt.getTime() / 1000;
  const last = sample('recalld_live_measure_last_success_timestamp_seconds', { pipeline }, measuredAt);
  if (newest.ageSeconds > longestSeconds) return [last];
  return [last, sample('recalld_live_measure_samples_read_ratio', { pipeline }, newest.value)];
}

function isLive(measure: string): measure is LiveMeasure {
  return (liveMeasures as readonly string[]).includes(measure);
}
