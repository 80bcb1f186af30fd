import { expect, it } from 'vitest';
import {
  isRunTooOld,
  measurementTrustSeconds,
  runTrustSeconds,
} from '../../../../src/measures/rules/measurement.ts';
import { NOON } from '../../../support/builders.ts';
import { aMeasurement, hours } from '../../../support/measurements.ts';

it('a run is trusted for three intervals of its schedule, to the second, and for three days when it is made by hand', () => {
  expect([runTrustSeconds(300), runTrustSeconds(null)]).toEqual([900, 3 * 86_400]);
  const after = (seconds: number) => new Date(NOON.getTime() + seconds * 1000);
  expect(isRunTooOld(NOON, 300, after(900))).toBe(false);
  expect(isRunTooOld(NOON, 300, after(901))).toBe(true);
});

it.each([
  ['a measure of live traffic, by the schedule that measures it', { measure: 'error_ratio' }, 900],
  ['the upkeep of live measures', { measure: 'samples_read_ratio' }, 900],
  ['an hourly probe', { measure: 'ann_recall' }, 3 * 3600],
  ['a measure of another window, by its length', { measure: 'other', windowStart: hours(-2) }, 6 * 3600],
  ['a measure of the moment, as live traffic', { measure: 'other', windowStart: NOON }, 900],
] as const)('%s is trusted for three intervals', (_, parts, seconds) => {
  expect(measurementTrustSeconds(aMeasurement(parts), 300)).toBe(seconds);
});
