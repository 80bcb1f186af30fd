/** The stored gauges of a reading, one after the other. */
import type { GaugeSample, StoredGauges } from '../../src/ports/metrics.ts';

export function samplesOf({ current, kept }: StoredGauges): GaugeSample[] {
  return [...current, ...kept.flatMap(({ samples }) => samples())];
}
