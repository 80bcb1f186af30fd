import { describe, expect, it } from 'vitest';
import { createThrottleLimits } from '../../../../src/connectors/throttle/limits.ts';
import { createGoldenBatches } from '../../../../src/golden/sql/golden-batches.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { aNewGoldenSet, goldenQueries } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, aRun } from '../../../support/golden-runs.ts';

const database = useDatabase();

describe('the batches of a golden run', () => {
  async function aRunOf(queries: number) {
    const name = `set-${queries}`;
    const runs = createGoldenRuns(database.pool);
    const sets = createGoldenSets(database.pool);
    await sets.add(aNewGoldenSet({ name, contentHash: name, queries: goldenQueries(queries) }), new Date());
    const { id } = aRun({ goldenSet: name });
    await runs.create(aRun({ id, goldenSet: name }));
    return { id, runs, batches: createGoldenBatches(database.pool) };
  }

  it('exist as soon as the run does, with fifty queries each', async () => {
    const { id, batches } = await aRunOf(101);
    expect(await batches.counts(id)).toEqual({ free: 3, held: 0 });
  });

  it('are each claimed by one worker, and taken over when the lease has expired', async () => {
    const { id, batches } = await aRunOf(101);
    const taken = await Promise.all(Array.from({ length: 8 }, (_, i) => batches.claim(id, `w${i}`, 60)));
    const got = taken.filter((batch) => batch !== null);
    expect(new Set(got).size).toBe(got.length);
    for (let more = await batches.claim(id, 'late', -1); more !== null; ) {
      more = await batches.claim(id, 'late', 60);
    }
    expect(await batches.counts(id)).toMatchObject({ free: 0, held: 3 });
    const { rows } = await database.pool.query(
      `update golden_run_batches set lease_until = now() - interval '1 s' where run_id = $1 and batch = 1 returning batch`,
      [id],
    );
    expect(rows).toHaveLength(1);
    expect(await batches.claim(id, 'heir', 60)).toBe(1);
    expect(await batches.renew(id, 1, 'w0', 60)).toBe(false);
    expect(await batches.renew(id, 1, 'heir', 60)).toBe(true);
  });

  it('cannot be claimed while one worker holds the whole run, or after it has ended', async () => {
    const { id, runs, batches } = await aRunOf(60);
    await runs.hold(id, 'command', 60);
    expect(await batches.claim(id, 'w', 60)).toBeNull();
    await runs.release(id, 'command');
    expect(await batches.claim(id, 'w', 60)).toBe(0);
    await runs.finish(id, anEnd({ status: 'cancelled' }));
    expect(await batches.renew(id, 0, 'w', 60)).toBe(false);
    expect(await batches.claim(id, 'w', 60)).toBeNull();
  });

  it('keep their run from being treated as abandoned while a worker holds one of them', async () => {
    const { id, runs, batches } = await aRunOf(60);
    const isAbandoned = async (): Promise<boolean> => (await runs.abandoned()).some((run) => run.id === id);
    expect(await isAbandoned()).toBe(true);
    await batches.claim(id, 'w', 60);
    expect(await isAbandoned()).toBe(false);
    await batches.release(id, 0, 'w');
    expect(await isAbandoned()).toBe(true);
  });

  it('cannot be claimed again once completed', async () => {
    const { id, batches } = await aRunOf(101);
    await batches.claim(id, 'w', 60);
    await batches.complete(id, 0);
    expect(await batches.counts(id)).toEqual({ free: 2, held: 0 });
    await batches.completeAll(id);
    expect(await batches.claim(id, 'w', 60)).toBeNull();
    expect(await batches.counts(id)).toEqual({ free: 0, held: 0 });
  });
});

describe('the limits of a retriever', () => {
  const limits = () => createThrottleLimits(database.pool);

  it('reserve evenly spaced request times, whichever worker reserves them', async () => {
    const waits = await Promise.all(Array.from({ length: 6 }, () => limits().reserve('limited', 2, 1)));
    const sorted = waits.toSorted((a, b) => a - b);
    expect(sorted[0]).toBe(0);
    // The requests are two seconds apart, but a caller waits for less, because its own call took some time.
    sorted.slice(1).forEach((wait, index) => {
      expect(wait).toBeLessThanOrEqual((index + 1) * 2000);
      expect(wait).toBeGreaterThan((index + 1) * 2000 - 2000);
    });
  });

  it('divide the concurrency among the live workers, and reclaim the share of dead ones', async () => {
    const ask = (holder: string, using: number, lease = 60) =>
      limits().share('shared', holder, { concurrency: 4, using, failuresInARow: 0 }, lease);
    expect((await ask('a', 0)).slots).toBe(4);
    expect((await ask('b', 0)).slots).toBe(0);
    expect((await ask('a', 4)).slots).toBe(2);
    expect((await ask('a', 2)).slots).toBe(2);
    expect((await ask('b', 0, -1)).slots).toBe(2);
    expect((await ask('a', 2)).slots).toBe(4);
    await limits().leave('shared', 'a');
    expect((await ask('c', 0)).slots).toBe(4);
  });

  it('count the failures of all workers together', async () => {
    const ask = (holder: string, failuresInARow: number) =>
      limits().share('failing', holder, { concurrency: 4, using: 0, failuresInARow }, 60);
    await ask('a', 7);
    await ask('b', 5);
    expect((await ask('c', 1)).failuresElsewhere).toBe(12);
  });
});
