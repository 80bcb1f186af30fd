/** How well golden sets stand for live traffic -> metric samples. What is too old to trust is withheld. */
import { parseMetricKey } from '../../core/ir/metric-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LatestMeasurement, Measurements } from '../../ports/measurements.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';
import { measurementTrustSeconds } from '../checks/trust.ts';
import { goldenSetOf } from '../golden-segment.ts';
import { LIVE_MIX_PREFIX, REPRESENTATIVENESS } from '../golden-sets/measure-golden-representativeness.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';

export interface LiveMixGaugesDeps {
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly clock: Clock;
  /** Those of the config; what is stored of other pipelines and sets is left out. */
  readonly pipelines: readonly Pick<WatchedPipeline, 'name' | 'golden'>[];
}

export async function readLiveMixGauges(deps: LiveMixGaugesDeps): Promise<GaugeSample[]> {
  const latest = await deps.measurements.latest(deps.clock.now());
  return deps.pipelines.flatMap(({ name: pipeline, golden }) =>
    golden.flatMap(({ set }) => {
      const own = latest.filter(
        (one) => one.pipeline === pipeline && goldenSetOf(one.segment) === set && isTrusted(one),
      );
      return setSamples({ pipeline, golden_set: set }, own);
    }),
  );
}

function isTrusted({ newest, gap }: LatestMeasurement): boolean {
  if (newest === null || gap !== null) return false;
  return newest.ageSeconds <= measurementTrustSeconds(newest, 0);
}

type SetLabels = Readonly<Record<'pipeline' | 'golden_set', string>>;

function setSamples(set: SetLabels, measured: readonly LatestMeasurement[]): GaugeSample[] {
  const covered = measured.find(({ measure }) => measure === REPRESENTATIVENESS)?.newest ?? null;
  const scores = measured.filter(({ measure }) => measure.startsWith(LIVE_MIX_PREFIX));
  const effective = numberOf(scores[0]?.newest?.details['effective_sample_size']);
  const represented = numberOf((covered ?? scores[0]?.newest)?.details['represented']);
  return [
    ...(covered === null ? [] : withBounds('recalld_golden_live_covered_ratio', set, covered)),
    ...(represented === null ? [] : [sample('recalld_golden_live_represented_ratio', set, represented)]),
    ...scores.flatMap(({ newest }) => (newest === null ? [] : scoreSamples(set, newest))),
    ...(effective === null ? [] : [sample('recalld_golden_live_mix_effective_queries', set, effective)]),
  ];
}

type Newest = NonNullable<LatestMeasurement['newest']>;

function scoreSamples(set: SetLabels, newest: Newest): GaugeSample[] {
  const { measure, k } = parseMetricKey(String(newest.details['metric']));
  return withBounds('recalld_golden_live_mix_score', { ...set, measure, k: String(k) }, newest);
}

function withBounds(
  name: 'recalld_golden_live_covered_ratio' | 'recalld_golden_live_mix_score',
  labels: GaugeSample['labels'],
  { value, ciLow, ciHigh }: Newest,
): GaugeSample[] {
  return [
    sample(name, labels, value),
    ...(ciLow === null ? [] : [sample(`${name}_ci_low`, labels, ciLow)]),
    ...(ciHigh === null ? [] : [sample(`${name}_ci_high`, labels, ciHigh)]),
  ];
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
