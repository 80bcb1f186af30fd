import { expect, it } from 'vitest';
import type { StoredDensityState } from '../../../src/density/watch-table.ts';
import { observeDensity } from '../../../src/diagnosis/observe-parts.ts';
import { NOON } from '../../support/builders.ts';
import { aMeasurement } from '../../support/measurements.ts';
import { MemoryMeasurements } from '../../support/memory-measurements.ts';

const noEvents = { events: async () => [] };

async function observed(value: number, scope: 'global' | number) {
  const incident = { scope, openedMs: NOON.getTime(), raisedMs: NOON.getTime(), raisedHigh: 0.9 };
  const phase = { kind: 'watching', alarms: { page: { incident } } };
  const stored = { state: { phase }, revision: 1, updatedAt: NOON } as unknown as StoredDensityState;
  const measurements = new MemoryMeasurements();
  const density = { measure: 'query_density', value, ciLow: value - 0.1, ciHigh: value + 0.1 };
  await measurements.record([aMeasurement(density)]);
  return observeDensity(noEvents, 'docs', stored, await measurements.latest(NOON));
}

it('takes density as fallen while an alarm of it is open', async () => {
  expect(await observed(0.8, 'global')).toMatchObject({ value: 0.8, hasFallen: true });
});

it('takes it as back once it is, although the alarm is open for a day more', async () => {
  expect(await observed(1.02, 'global')).toMatchObject({ value: 1.02, hasFallen: false, questions: null });
});

it('takes a region in alarm as fallen, whatever the rest of the traffic does', async () => {
  expect(await observed(1.02, 3)).toMatchObject({ hasFallen: true });
});
