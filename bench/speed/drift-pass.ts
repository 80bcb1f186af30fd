import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { assignRegions, type Regions } from '../../src/density/rules/baseline-spread.ts';
import { measureWindow } from '../../src/density/rules/measure-window.ts';
import { baselineScores, type ScoredQuery } from '../../src/density/rules/query-score.ts';
import { type Matrix, normaliseRows } from '../../src/math/vector/matrix.ts';
import { randomNumbers } from '../random-numbers.ts';
import { run, withDaemon } from './child.ts';
import { type LoadResult, sendLoad } from './http-load.ts';
import { liveConfig, liveQuery } from './live-config.ts';
import { figure, type MeasureRow, timed } from './row.ts';

export function randomMatrix(rows: number, columns: number, seed: number): Matrix {
  const random = randomNumbers(seed);
  const data = Float32Array.from({ length: rows * columns }, () => random.uniform() - 0.5);
  return normaliseRows({ rows, columns, data }).matrix;
}

/** Maximum number of baseline queries with which live queries are compared. */
const REFERENCE = 2_000;

/** A window with scores and vectors, and a baseline that is five times as large. */
export function windowOf(queries: number, columns: number) {
  const vectors = randomMatrix(queries, columns, 1);
  const random = randomNumbers(2);
  const centroids = randomMatrix(32, columns, 3);
  const regions: Regions = { count: 32, columns, centroids: Float64Array.from(centroids.data) };
  const labels = Int32Array.from({ length: 5 * queries }, () => random.below(32));
  const scores = baselineScores(
    Float64Array.from(labels, () => random.uniform()),
    labels,
    32,
  );
  const scored = Array.from(
    { length: queries },
    (_, row): ScoredQuery => ({
      id: `query-${row}`,
      session: `session-${row >> 1}`,
      score: random.uniform(),
      row,
      occurredAt: new Date(0),
    }),
  );
  const ones = new Uint32Array(REFERENCE).fill(1);
  const reference = {
    vectors: randomMatrix(REFERENCE, columns, 4),
    surprises: Float64Array.from(ones, () => random.uniform()),
    counts: [ones, ones] as const,
  };
  return { scored, vectors, baseline: { regions, scores, reference, meanExcess: 0 } };
}

const NUMPY = `
import sys, time, numpy as np
queries, chunks, columns, k = map(int, sys.argv[1:])
rng = np.random.default_rng(1)
unit = lambda n: (lambda m: m / np.linalg.norm(m, axis=1, keepdims=True))(rng.random((n, columns), dtype=np.float32) - 0.5)
store, asked = unit(chunks), unit(queries)
start = time.perf_counter()
for first in range(0, queries, 500):
    cosines = asked[first:first + 500] @ store.T
    best = np.argpartition(cosines, -k, axis=1)[:, -k:]
    np.sort(np.take_along_axis(cosines, best, axis=1), axis=1)
print(1000 * (time.perf_counter() - start))`;

/** Compares a window with its baseline, and runs the exact search for stores that return no scores. */
export const driftPass: MeasureRow = async (quick) => {
  const [queries, chunks] = quick ? [200, 1000] : [10_000, 50_000];
  const window = windowOf(queries, 1536);
  const windows: number[] = [];
  const assigning: number[] = [];
  for (let round = 0; round < 6; round++) {
    const ms = await timed(() => measureWindow(window.scored, window.vectors, window.baseline));
    const regionsMs = await timed(() => assignRegions(window.vectors, window.baseline.regions));
    if (round > 0) windows.push(ms);
    if (round > 0) assigning.push(regionsMs);
  }
  const search = await withDaemon(liveConfig(0.1), (daemon) =>
    searchBesideIngest(daemon.url, queries, chunks, quick ? 0.5 : 5),
  );
  const numpy = await numpyMs(queries, chunks);
  const windowFigure = figure(`a window of ${queries} queries, 1536 dimensions`, 'ms', windows);
  const name = `exact search, ${queries} queries x ${chunks} chunks x 768 dimensions`;
  const rate = (ms: number): number => (2 * queries * chunks * 768) / ms / 1e6;
  return {
    row: 'drift pass',
    name: 'drift-pass',
    figures: [
      windowFigure,
      figure('part of the window: assigning queries to 32 regions', 'ms', assigning),
      figure(`${name}, one worker thread`, 'ms', [search.ms]),
      figure('rate of the exact search', 'GFLOP/s', [rate(search.ms)]),
      ...(numpy === null ? [] : [figure(`NumPy in float32, all processors: ${name}`, 'ms', [numpy])]),
      figure('ingest p99 without the search', 'ms', [search.before.p99Ms]),
      figure('ingest p99 during the search', 'ms', [search.during.p99Ms]),
      figure('longest delay of the main thread during the search', 'ms', [search.longestWaitMs]),
    ],
    bars: [
      {
        what: 'duration of a density window',
        value: windowFigure.median / 1000,
        side: 'at most',
        limit: 0.2,
        unit: 's',
      },
      {
        what: 'exact search, throughput',
        value: rate(search.ms),
        side: 'at least',
        limit: 18.6,
        unit: 'GFLOP/s',
      },
      {
        what: 'longest delay of the main thread',
        value: search.longestWaitMs,
        side: 'at most',
        limit: 50,
        unit: 'ms',
      },
    ],
    notes: numpy === null ? ['NumPy is not installed, so the comparison with NumPy was skipped.'] : [],
  };
};

/** Searches in a worker thread while a daemon ingests queries at a rate below the daemon's capacity. */
async function searchBesideIngest(url: string, queries: number, chunks: number, seconds: number) {
  const load = { url, path: '/v1/queries', connections: 8, seconds, pauseMs: 20, body: () => liveQuery() };
  await sendLoad({ ...load, seconds: seconds / 4 });
  const before = await sendLoad(load);
  const thread = await searchThread(randomMatrix(queries, 768, 4), randomMatrix(chunks, 768, 5));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const [ms, during] = await Promise.all([thread.search(), sendLoad(load)]);
  delay.disable();
  return { before, during: during satisfies LoadResult, ms, longestWaitMs: delay.max / 1e6 };
}

async function searchThread(queries: Matrix, store: Matrix): Promise<{ search(): Promise<number> }> {
  const built = path.resolve(import.meta.dirname, '../../dist/math/vector/nearest-neighbours.js');
  const thread = new Worker(
    `const { parentPort, workerData: { queries, store } } = require('node:worker_threads');
     import(${JSON.stringify(pathToFileURL(built).href)}).then(({ nearestNeighbours }) => {
       parentPort.postMessage('ready');
       parentPort.once('message', () => {
         const startedAt = performance.now();
         nearestNeighbours(store, queries, 5);
         parentPort.postMessage(performance.now() - startedAt);
       });
     });`,
    { eval: true, execArgv: [], workerData: { queries, store } },
  );
  const next = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      thread.once('message', resolve);
      thread.once('error', reject);
    });
  await next<string>();
  return {
    search() {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      thread.postMessage('start');
      return next<number>();
    },
  };
}

async function numpyMs(queries: number, chunks: number): Promise<number | null> {
  try {
    return Number(await run('python3', ['-c', NUMPY, ...[queries, chunks, 768, 5].map(String)], '.'));
  } catch {
    return null;
  }
}
