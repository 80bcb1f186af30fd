import { describe, expect, it } from 'vitest';
import { createThrottleLimits } from '../../../../src/connectors/throttle/limits.ts';
import { openThrottle } from '../../../../src/connectors/throttle/throttle.ts';
import { systemClock as clock } from '../../../../src/core/system-clock.ts';
import { askRetriever } from '../../../../src/golden/runs/ask-retriever.ts';
import { aRunSettings, goldenQueries } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { silentLogger as logger } from '../../../support/log.ts';
import { MemoryRetriever } from '../../../support/memory-retriever.ts';

const database = useDatabase();

/**
 * Runs concurrent callers of one retriever; each sends 30 queries. `startedAtMs` is the clock's monotonic time just
 * before the callers start.
 */
async function ask(askers: number, latencyMs: number, concurrency: number, maxPerSecond: number) {
  const limits = createThrottleLimits(database.pool);
  const retriever = new MemoryRetriever(clock, () => ['d1'], latencyMs);
  const settings = aRunSettings({ concurrency, maxPerSecond });
  const pipeline = `asked by ${askers} at ${latencyMs} ms`;
  const startedAtMs = clock.monotonicMs();
  const all = Array.from({ length: askers }, async (_, index) => {
    const asker = { ...settings, pipeline, holder: `asker-${index}`, usualLatencyMs: null };
    const gate = await openThrottle(contextOf({ db: { limits }, clock, logger }), asker);
    const { signal } = new AbortController();
    await askRetriever(retriever, clock, gate, goldenQueries(30), settings, () => undefined, signal);
    await gate.close();
  });
  await Promise.all(all);
  return { retriever, startedAtMs };
}

describe('callers of one retriever', () => {
  it.each([1, 2, 3, 5])('respect its concurrency and rate limits together (callers: %i)', async (askers) => {
    const [slow, quick] = await Promise.all([ask(askers, 40, 2, 1000), ask(askers, 5, 2, 100)]);
    expect(slow.retriever.asked).toHaveLength(30 * askers);
    expect(slow.retriever.mostAtOnce).toBe(2);
    const times = quick.retriever.asked.map(({ atMs }) => atMs).toSorted((a, b) => a - b);
    expect(times).toHaveLength(30 * askers);
    // A timer may be late, but no query starts before its slot; the tolerance of 2 ms covers timers that round down.
    const early = times.filter((time, turn) => time - quick.startedAtMs < turn * 10 - 2);
    expect(early).toEqual([]);
  });

  it('use the whole concurrency limit together', async () => {
    const { retriever } = await ask(2, 200, 4, 1000);
    expect(retriever.mostAtOnce).toBe(4);
  });
});
