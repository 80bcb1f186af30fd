import { expect, it } from 'vitest';
import { askRetriever } from '../../../../src/golden/runs/ask-retriever.ts';
import { aRunSettings, goldenQueries } from '../../../support/builders.ts';
import { MemoryRetriever } from '../../../support/memory-retriever.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';
import { aGate } from '../../../support/throttle.ts';

it('the throttle reduces concurrent calls to a retriever that slows down, and restores them when the retriever recovers', async () => {
  const clock = new SteerableClock();
  const settings = { concurrency: 4, maxPerSecond: 1000 };
  const gate = await aGate(clock, settings);
  const { signal } = new AbortController();
  const askAll = async (latencyMs: number) => {
    const retriever = new MemoryRetriever(clock, () => ['d1'], latencyMs);
    await clock.until(
      askRetriever(retriever, clock, gate, goldenQueries(100), aRunSettings(settings), () => undefined, signal),
    );
    retriever.mostAtOnce = 0;
    await clock.until(
      askRetriever(retriever, clock, gate, goldenQueries(100), aRunSettings(settings), () => undefined, signal),
    );
    return retriever.mostAtOnce;
  };
  expect(await askAll(50)).toBe(4);
  expect(await askAll(400)).toBe(1);
  expect(await askAll(50)).toBe(4);
  await gate.close();
});
