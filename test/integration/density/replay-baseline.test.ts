/** Replayed baseline queries show that the store lost content, even if no user asks about that content. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replayBaselineQueries } from '../../../src/density/search-store.ts';
import { useDatabase } from '../../support/database.ts';
import { evenly, HOUR, WatchedStream } from '../../support/watched-stream.ts';

const TOPICS = [0, 1, 2, 3, 4, 5];
const ROUND_MS = 5 * 60_000;

describe('replayed baseline queries', () => {
  const database = useDatabase();
  let stream: WatchedStream;
  beforeAll(async () => {
    stream = new WatchedStream(database.pool, { windowMs: 4 * HOUR, needs: { days: 3, sessions: 600 } });
    await stream.run(3 * 24 + 8, 12, evenly(TOPICS), 4);
  }, 120_000);
  afterAll(() => stream.close());

  /** Runs the job every minute for an hour. */
  async function anHour(): Promise<number> {
    const before = stream.store.searches;
    for (let minute = 0; minute < 60; minute++) {
      await replayBaselineQueries({ context: stream.deps, plan: stream.plan, signal: new AbortController().signal });
      stream.clock.set(new Date(stream.clock.now().getTime() + 60_000));
    }
    return stream.store.searches - before;
  }

  async function measured() {
    const latest = await stream.deps.db.measurements.latest(stream.clock.now());
    return latest.find(({ measure }) => measure === 'repeat_density') ?? null;
  }

  it('have a density of exactly 1 while they find the same chunks, at about a hundred queries per hour', async () => {
    expect(await anHour()).toBe(108);
    const { newest, gap } = (await measured()) ?? {};
    expect(gap).toBeNull();
    expect(newest).toMatchObject({ value: 1, n: 108, ciMethod: 'wilson', details: { dropped: 0 } });
  });

  it('show within one hour that a topic was deleted, without live queries on it', async () => {
    stream.store.hold(stream.chunksOf(TOPICS.slice(1)));
    await anHour();
    const { newest } = (await measured()) ?? {};
    expect(newest?.ciHigh).toBeLessThan(0.95);
    expect(newest?.value).toBeGreaterThan(0.3);
    // One sixth of the baseline queries are about the deleted topic.
    expect(newest?.details['dropped']).toBeGreaterThanOrEqual(8);
  });

  it('show that the content was restored', async () => {
    stream.store.hold(stream.chunksOf(TOPICS));
    await anHour();
    expect((await measured())?.newest).toMatchObject({ value: 1 });
  });

  it('have a reason instead of a value while the store does not respond, and a value in the next round', async () => {
    stream.store.failure = 'connection refused';
    await anHour();
    expect((await measured())?.gap).toMatchObject({ reason: 'store_failed' });
    stream.store.failure = null;
    stream.clock.set(new Date(stream.clock.now().getTime() + ROUND_MS));
    await anHour();
    expect(await measured()).toMatchObject({ gap: null, newest: { value: 1 } });
  });
});
