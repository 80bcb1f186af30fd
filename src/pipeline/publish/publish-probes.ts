/** What probes last found -> metric samples. What is too old to trust is withheld. */
import type { Clock } from '../../ports/clock.ts';
import type { Deployments } from '../../ports/deployments.ts';
import type { LatestMeasurement, Measurements } from '../../ports/measurements.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';
import { isProbeMeasure, type ProbeMeasure, probeTrustSeconds } from '../checks/trust.ts';

/** Measures that are one gauge. */
const plainGauges = {
  store_vectors: 'recalld_store_vectors',
  embedding_canary_median: 'recalld_embedding_canary_median_similarity',
  embedding_canary_least: 'recalld_embedding_canary_least_similarity',
  store_centroid_shift: 'recalld_store_centroid_shift',
  store_length_ratio: 'recalld_store_length_ratio',
  store_query_divergence: 'recalld_store_query_divergence',
  store_queries_apart_ratio: 'recalld_store_queries_apart_ratio',
  store_chunks_unasked_ratio: 'recalld_store_chunks_unasked_ratio',
} as const;

const infoOf = { index: 'recalld_index_info', embedder: 'recalld_embedder_info' } as const;

type NewestValue = NonNullable<LatestMeasurement['newest']>;

export interface ProbeGaugesDeps {
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly deployments: Pick<Deployments, 'fingerprints'>;
  readonly clock: Clock;
  /** Names of the pipelines of the config; what is stored of others is left out. */
  readonly pipelines: readonly string[];
}

export async function readProbeGauges(deps: ProbeGaugesDeps): Promise<GaugeSample[]> {
  const watched = new Set(deps.pipelines);
  const [latest, fingerprints] = await Promise.all([
    deps.measurements.latest(deps.clock.now()),
    deps.deployments.fingerprints(),
  ]);
  return [
    ...latest
      .filter(({ pipeline }) => watched.has(pipeline))
      .flatMap((one) => (isProbeMeasure(one.measure) ? probeSamples(one, one.measure) : [])),
    ...fingerprints
      .filter(({ pipeline }) => watched.has(pipeline))
      .map(({ pipeline, part, fingerprint }) => sample(infoOf[part], { pipeline, fingerprint }, 1)),
  ];
}

function probeSamples({ pipeline, newest, gap }: LatestMeasurement, measure: ProbeMeasure): GaugeSample[] {
  const samples: GaugeSample[] = [];
  if (newest !== null) {
    const at = newest.measuredAt.getTime() / 1000;
    samples.push(sample('recalld_probe_last_success_timestamp_seconds', { pipeline, measure }, at));
  }
  if (gap !== null && gap.ageSeconds <= probeTrustSeconds[measure]) {
    return [...samples, sample('recalld_probe_no_data', { pipeline, measure, reason: gap.reason }, 1)];
  }
  if (newest === null || newest.ageSeconds > probeTrustSeconds[measure]) return samples;
  return [...samples, ...valueSamples(pipeline, measure, newest)];
}

function valueSamples(pipeline: string, measure: ProbeMeasure, newest: NewestValue): GaugeSample[] {
  const { value, n, details, ageSeconds } = newest;
  if (isPlain(measure)) return [sample(plainGauges[measure], { pipeline }, value)];
  switch (measure) {
    case 'store_sample_vectors':
      return [sample('recalld_store_sample_age_seconds', { pipeline }, ageSeconds)];
    case 'store_duplicates_ratio':
      return withBounds(duplicates, { pipeline }, newest);
    case 'ann_recall': {
      const labels = { pipeline, k: String(details['k']) };
      return [...withBounds(annRecall, labels, newest), sample('recalld_ann_recall_queries', labels, n)];
    }
  }
}

function isPlain(measure: ProbeMeasure): measure is keyof typeof plainGauges {
  return Object.hasOwn(plainGauges, measure);
}

const duplicates = [
  'recalld_store_duplicates_ratio',
  'recalld_store_duplicates_ratio_ci_low',
  'recalld_store_duplicates_ratio_ci_high',
] as const;

const annRecall = [
  'recalld_ann_recall_ratio',
  'recalld_ann_recall_ratio_ci_low',
  'recalld_ann_recall_ratio_ci_high',
] as const;

function withBounds(
  [name, lowName, highName]: typeof duplicates | typeof annRecall,
  labels: GaugeSample['labels'],
  { value, ciLow, ciHigh }: NewestValue,
): GaugeSample[] {
  return [
    { name, labels, value },
    ...(ciLow === null ? [] : [{ name: lowName, labels, value: ciLow }]),
    ...(ciHigh === null ? [] : [{ name: highName, labels, value: ciHigh }]),
  ];
}
