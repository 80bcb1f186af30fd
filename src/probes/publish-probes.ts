/** What probes last found -> metric samples. What is too old to trust is withheld. */

import type { Deployments } from '../deployments/deployments.ts';
import { type MeasuredRows, valueSamples } from '../measures/gauges.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import { ageSeconds, probeTrustSeconds } from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import { ALL_SEGMENT } from '../model.ts';

const infoOf = { index: 'recalld_index_info', embedder: 'recalld_embedder_info' } as const;

interface ProbeGaugesDeps {
  readonly deployments: Pick<Deployments, 'fingerprints'>;
  /** Names of the pipelines of the config; what is stored of others is left out. */
  readonly pipelines: readonly string[];
}

export async function readProbeGauges(
  { deployments, pipelines }: ProbeGaugesDeps,
  { measurements }: MeasuredRows,
): Promise<GaugesAt> {
  const watched = new Set(pipelines);
  const own = measurements.filter(({ pipeline }) => watched.has(pipeline));
  const infos = (await deployments.fingerprints())
    .filter(({ pipeline }) => watched.has(pipeline))
    .map(({ pipeline, part, fingerprint }) => sample(infoOf[part], { pipeline, fingerprint }, 1));
  return (now) => [...own.flatMap((one) => probeSamples(one, now)), ...infos];
}

function probeSamples({ pipeline, measure, newest, gap }: LatestMeasurement, now: Date): GaugeSample[] {
  const trustSeconds = probeTrustSeconds(measure);
  if (trustSeconds === null) return [];
  const samples: GaugeSample[] = [];
  if (newest !== null) {
    const at = newest.measuredAt.getTime() / 1000;
    samples.push(sample('recalld_probe_last_success_timestamp_seconds', { pipeline, measure }, at));
  }
  if (gap !== null && ageSeconds(gap.measuredAt, now) <= trustSeconds) {
    return [...samples, sample('recalld_probe_no_data', { pipeline, measure, reason: gap.reason }, 1)];
  }
  if (newest === null) return samples;
  const age = ageSeconds(newest.measuredAt, now);
  if (age > trustSeconds) return samples;
  const own = valueSamples({ pipeline, segment: ALL_SEGMENT, measure, newest });
  if (measure === 'store_sample_vectors')
    own.push(sample('recalld_store_sample_age_seconds', { pipeline }, age));
  if (measure === 'ann_recall')
    own.push(sample('recalld_ann_recall_queries', { pipeline, k: String(newest.details['k']) }, newest.n));
  return [...samples, ...own];
}
