import { afterEach, describe, expect, it } from 'vitest';
import { type ComputePool, createComputePool } from '../../../src/app/compute.ts';
import { buildBaseline } from '../../../src/density/rules/baseline.ts';
import { evenQuestions, queryWorld } from '../../support/query-world.ts';
import { waitFor } from '../../support/wait-for.ts';

const DAY = 86_400_000;
const MONDAY = new Date('2026-11-02T00:00:00Z');

const world = queryWorld(7, 6, 6);
const asked = world.ask(evenQuestions(400, [0, 1, 2, 3, 4, 5], MONDAY, 4 * DAY));
const settings = {
  period: { from: MONDAY, until: new Date(MONDAY.getTime() + 4 * DAY) },
  windowMs: 3_600_000,
  seed: 1,
};
const never = new AbortController().signal;

/**
 * A matrix so large that processing it keeps the thread busy until the thread is stopped. The matrix is in shared
 * memory, because copying it would take longer than a test.
 */
const endless = (() => {
  const [rows, columns] = [60_000, 256];
  const data = new Float32Array(new SharedArrayBuffer(4 * rows * columns));
  for (let row = 0; row < rows; row++) {
    data[row * columns + (row % columns)] = 1;
    data[row * columns + (row % 251)] = row / rows;
  }
  return {
    vectors: { rows, columns, data },
    queries: Array.from({ length: rows }, (_, row) => ({
      id: `q${row}`,
      session: null,
      score: 0.5,
      row,
      occurredAt: MONDAY,
    })),
  };
})();

let pool: ComputePool | null = null;

function openPool(threads: number, maxWaiting: number): ComputePool {
  pool = createComputePool({ threads, maxWaiting });
  return pool;
}

afterEach(() => pool?.close());

describe('a computation in a thread', () => {
  it('returns the same result as on the main thread', async () => {
    const result = await openPool(1, 1).run('buildBaseline', { traffic: asked, settings }, never);
    expect(result).toEqual(buildBaseline(asked.queries, asked.vectors, settings));
  });

  it('runs after another one in the same thread', async () => {
    const open = openPool(1, 1);
    const first = await open.run('buildBaseline', { traffic: asked, settings }, never);
    expect(await open.run('buildBaseline', { traffic: asked, settings }, never)).toEqual(first);
  });

  it('reads vectors from shared memory', async () => {
    const data = new Float32Array(new SharedArrayBuffer(asked.vectors.data.byteLength));
    data.set(asked.vectors.data);
    const traffic = { queries: asked.queries, vectors: { ...asked.vectors, data } };
    const result = await openPool(1, 1).run('buildBaseline', { traffic, settings }, never);
    expect(result).toEqual(buildBaseline(asked.queries, asked.vectors, settings));
  });

  it('fails with the same error as on the main thread', async () => {
    const baseline = buildBaseline(asked.queries, asked.vectors, settings);
    if ('kind' in baseline) throw new Error('the baseline has too few days');
    const other = queryWorld(8, 2, 2).ask(evenQuestions(2, [0, 1], MONDAY, DAY));
    const vectors = { rows: 2, columns: 3, data: new Float32Array(6).fill(1) };
    const traffic = { queries: other.queries, vectors };
    await expect(openPool(1, 1).run('measureWindow', { traffic, baseline }, never)).rejects.toThrow(RangeError);
  });

  it('reports its duration and the memory of the process', async () => {
    const reports: string[] = [];
    pool = createComputePool({
      threads: 1,
      maxWaiting: 1,
      onDone: ({ task, computeMs, totalMs, processBytes }) => {
        if (computeMs > 0 && totalMs >= computeMs && processBytes > 0) reports.push(task);
      },
    });
    await pool.run('buildBaseline', { traffic: asked, settings }, never);
    expect(reports).toEqual(['buildBaseline']);
  });
});

describe('a busy pool', () => {
  it('ends a running computation that is cancelled, and continues with the next one', async () => {
    const stop = new AbortController();
    const open = openPool(1, 1);
    const running = open.run('buildBaseline', { traffic: endless, settings }, stop.signal);
    const waiting = open.run('buildBaseline', { traffic: asked, settings }, never);
    stop.abort(new Error('no longer wanted'));
    await expect(running).rejects.toThrow('no longer wanted');
    expect(await waiting).toEqual(buildBaseline(asked.queries, asked.vectors, settings));
  });

  it('drops a waiting computation that is cancelled', async () => {
    const stop = new AbortController();
    const waitingStop = new AbortController();
    const open = openPool(1, 1);
    const running = open.run('buildBaseline', { traffic: endless, settings }, stop.signal);
    const waiting = open.run('buildBaseline', { traffic: asked, settings }, waitingStop.signal);
    waitingStop.abort(new Error('not wanted'));
    await expect(waiting).rejects.toThrow('not wanted');
    const following = open.run('buildBaseline', { traffic: asked, settings }, never);
    stop.abort(new Error('stopped'));
    await expect(running).rejects.toThrow('stopped');
    expect(await following).toMatchObject({ queries: 400 });
  });

  it('rejects computations beyond the queue limit', async () => {
    const stop = new AbortController();
    const open = openPool(1, 0);
    const running = open.run('buildBaseline', { traffic: endless, settings }, stop.signal);
    await expect(open.run('buildBaseline', { traffic: asked, settings }, never)).rejects.toMatchObject({
      code: 'overloaded',
    });
    stop.abort(new Error('stopped'));
    await expect(running).rejects.toThrow('stopped');
  });

  it('does not block the main thread', async () => {
    const stop = new AbortController();
    const running = openPool(1, 0).run('buildBaseline', { traffic: endless, settings }, stop.signal);
    let turns = 0;
    const turn = (): void => {
      turns++;
      if (turns < 100) setImmediate(turn);
    };
    turn();
    await waitFor(() => turns === 100);
    stop.abort(new Error('stopped'));
    await expect(running).rejects.toThrow('stopped');
  });
});
