import { expect, it, onTestFinished } from 'vitest';
import { watchEventLoop } from '../../../../src/platform/metrics/prometheus.ts';
import { waitFor } from '../../../support/wait-for.ts';

it('measures the delay by a task that blocks the event loop', async () => {
  const observed: number[] = [];
  const recorded: number[] = [];
  const stop = watchEventLoop(
    {
      observe: (_name, _labels, value) => {
        observed.push(value);
      },
    },
    (seconds) => {
      recorded.push(seconds);
    },
  );
  onTestFinished(stop);
  await waitFor(() => observed.length > 0);
  const until = performance.now() + 400;
  while (performance.now() < until);
  await waitFor(() => Math.max(...observed) >= 0.25);
  expect(recorded).toEqual(observed);
  expect(Math.min(...observed)).toBeGreaterThanOrEqual(0);
});
