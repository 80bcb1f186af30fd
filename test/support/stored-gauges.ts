/** The stored gauges in a reading, one after the other. */

import type { GaugeSample, StoredGauges } from '../../src/platform/metrics/meter.ts';

export function samplesOf({ current, kept }: StoredGauges): GaugeSample[] {
  return [...current, ...kept.flatMap(({ samples }) => samples())];
}
