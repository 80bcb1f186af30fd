import { describe, expect, it } from 'vitest';
import { askRetriever } from '../../../../src/golden/runs/ask-retriever.ts';
import { aRunSettings, goldenQueries } from '../../../support/builders.ts';
import { MemoryRetriever } from '../../../support/memory-retriever.ts';
import { MemoryRetrieverLimits } from '../../../support/memory-retriever-limits.ts';
import { aGate } from '../../../support/retriever-gate.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

/** So many askers of one retriever, each with its own queries. */
async function ask(askers: number, latencyMs: number, settings: Partial<ReturnType<typeof aRunSettings>>) {
  const clock = new SteerableClock();
  const limits = new MemoryRetrieverLimits(clock);
  const retriever = new MemoryRetriever(clock, () => ['d1'], latencyMs);
  const all = Array.from({ length: askers }, async (_, index) => {
    const gate = await aGate(clock, settings, limits, `asker-${index}`);
    const deps = { retriever, clock, gate };
    const { signal } = new AbortController();
    await askRetriever(deps, goldenQueries(40), aRunSettings(settings), () => undefined, signal);
    await gate.close();
  });
  await clock.until(Promise.all(all));
  return { retriever, clock };
}

describe('askers of one retriever', () => {
  it.each([1, 2, 3, 5])('%i of them together keep to its concurrency and its pace', async (askers) => {
    const { retriever } = await ask(askers, 50, { concurrency: 2, maxPerSecond: 30 });
    expect(retriever.asked).toHaveLength(40 * askers);
    expect(retriever.mostAtOnce).toBeLessThanOrEqual(2);
    const times = retriever.asked.map(({ atMs }) => atMs).toSorted((a, b) => a - b);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(1000 / 30 - 1e-6);
  });

  it('use all of the concurrency between them once each has its share', async () => {
    const { retriever } = await ask(2, 500, { concurrency: 4, maxPerSecond: 1000 });
    expect(retriever.mostAtOnce).toBe(4);
  });
});

describe('a retriever that slows down', () => {
  it('is asked more slowly, and again as before when it has come back', async () => {
    const clock = new SteerableClock();
    const settings = { concurrency: 4, maxPerSecond: 1000 };
    const gate = await aGate(clock, settings);
    const { signal } = new AbortController();
    const askAll = async (latencyMs: number) => {
      const retriever = new MemoryRetriever(clock, () => ['d1'], latencyMs);
      const deps = { retriever, clock, gate };
      await clock.until(askRetriever(deps, goldenQueries(100), aRunSettings(settings), () => undefined, signal));
      retriever.mostAtOnce = 0;
      await clock.until(askRetriever(deps, goldenQueries(100), aRunSettings(settings), () => undefined, signal));
      return retriever.mostAtOnce;
    };
    expect(await askAll(50)).toBe(4);
    expect(await askAll(400)).toBe(1);
    expect(await askAll(50)).toBe(4);
    await gate.close();
  });
});
