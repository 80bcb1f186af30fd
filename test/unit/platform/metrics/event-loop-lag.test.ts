import { expect, it, onTestFinished } from 'vitest';
import { watchEventLoop } from '../../../../src/platform/metrics/prometheus.ts';
import { MemoryMeter } from '../../../support/memory-telemetry.ts';
import { waitFor } from '../../../support/wait-for.ts';

it('measures the delay that is caused by a task blocking the event loop', async () => {
  const meter = new MemoryMeter();
  const recorded: number[] = [];
  const stop = watchEventLoop(meter, (seconds) => void recorded.push(seconds));
  onTestFinished(stop);
  await waitFor(() => recorded.length > 0);
  const until = performance.now() + 400;
  while (performance.now() < until);
  await waitFor(() => Math.max(...recorded) >= 0.25);
  expect(meter.observations.map(({ value }) => value)).toEqual(recorded);
  expect(Math.min(...recorded)).toBeGreaterThanOrEqual(0);
});
