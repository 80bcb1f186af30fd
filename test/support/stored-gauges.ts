/** Lists the samples of stored gauges at a point in time: first those in `current`, then those in `kept`. */

import type { GaugeSample, StoredGauges } from '../../src/platform/metrics/meter.ts';

export function samplesOf({ current, kept }: StoredGauges): GaugeSample[] {
  return [...current, ...kept.flatMap(({ samples }) => samples())];
}
