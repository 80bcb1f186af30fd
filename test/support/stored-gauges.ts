/** Lists the samples of stored gauges at a point in time: the current ones, then the kept ones. */

import type { GaugeSample, StoredGauges } from '../../src/platform/metrics/meter.ts';

export function samplesOf({ current, kept }: StoredGauges): GaugeSample[] {
  return [...current, ...kept.flatMap(({ samples }) => samples())];
}
