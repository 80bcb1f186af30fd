/** How well golden sets stand for live traffic -> metric samples. What is too old to trust is withheld. */
import { parseMetricKey } from '../ir/metric-key.ts';
import type { MeasuredRows } from '../measures/gauges.ts';
import { boundedSamples } from '../measures/gauges.ts';
import type { LatestMeasurement } from '../measures/ports/measurements.ts';
import { ageSeconds, measurementTrustSeconds } from '../measures/rules/trust.ts';
import type { GaugesAt } from '../metrics/meter.ts';
import { type GaugeSample, sample } from '../metrics/meter.ts';
import { goldenSetOf } from './rules/segments.ts';
import { LIVE_MIX_PREFIX, REPRESENTATIVENESS } from './sets/measure-golden-representativeness.ts';
import type { WatchedPipeline } from './watched-pipeline.ts';

/** @param pipelines those of the config; what is stored of other pipelines and sets is left out */
export function liveMixGauges(
  pipelines: readonly Pick<WatchedPipeline, 'name' | 'golden'>[],
  { measurements }: MeasuredRows,
): GaugesAt {
  const sets = pipelines.flatMap(({ name: pipeline, golden }) =>
    golden.map(({ set }) => ({
      labels: { pipeline, golden_set: set },
      measured: measurements.filter((one) => one.pipeline === pipeline && goldenSetOf(one.segment) === set),
    })),
  );
  return (now) =>
    sets.flatMap(({ labels, measured }) =>
      setSamples(
        labels,
        measured.filter((one) => isTrusted(one, now)),
      ),
    );
}

function isTrusted({ newest, gap }: LatestMeasurement, now: Date): boolean {
  if (newest === null || gap !== null) return false;
  return ageSeconds(newest.measuredAt, now) <= measurementTrustSeconds(newest, 0);
}

type SetLabels = Readonly<Record<'pipeline' | 'golden_set', string>>;

function setSamples(set: SetLabels, measured: readonly LatestMeasurement[]): GaugeSample[] {
  const covered = measured.find(({ measure }) => measure === REPRESENTATIVENESS)?.newest ?? null;
  const scores = measured.filter(({ measure }) => measure.startsWith(LIVE_MIX_PREFIX));
  const effective = numberOf(scores[0]?.newest?.details['effective_sample_size']);
  const represented = numberOf((covered ?? scores[0]?.newest)?.details['represented']);
  return [
    ...(covered === null ? [] : boundedSamples('recalld_golden_live_covered_ratio', set, covered)),
    ...(represented === null ? [] : [sample('recalld_golden_live_represented_ratio', set, represented)]),
    ...scores.flatMap(({ newest }) => (newest === null ? [] : scoreSamples(set, newest))),
    ...(effective === null ? [] : [sample('recalld_golden_live_mix_effective_queries', set, effective)]),
  ];
}

type Newest = NonNullable<LatestMeasurement['newest']>;

function scoreSamples(set: SetLabels, newest: Newest): GaugeSample[] {
  const { measure, k } = parseMetricKey(String(newest.details['metric']));
  return boundedSamples('recalld_golden_live_mix_score', { ...set, measure, k: String(k) }, newest);
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
