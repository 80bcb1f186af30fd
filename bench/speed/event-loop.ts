/** Measures a daemon's longest event-loop delay during expensive work, as exported by the daemon. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { createComputePool } from '../../src/app/compute.ts';
import { type Daemon, startScript, withDaemon } from './child.ts';
import { costlyTraces } from './costly-traces.ts';
import { windowOf } from './drift-pass.ts';
import { goldenConfig, importSet, pinRun, runSet, SEGMENTS } from './golden-segments.ts';
import { sendLoad } from './http-load.ts';
import { liveBatch, liveQuery } from './live-config.ts';
import { type Figure, figure, type MeasureRow, timed } from './row.ts';

const LIMIT_MS = 50;
const SCRAPE_EVERY_MS = 500;

interface Phase {
  readonly what: string;
  readonly work: (daemon: Daemon) => Promise<unknown>;
}

export const eventLoop: MeasureRow = async (quick) => {
  const queries = quick ? 100 : 2000;
  const bodies = Object.entries(costlyTraces(quick ? 0.02 : 1));
  const retriever = await startScript('bare-moving-retriever.ts');
  const idle = watchIdleThread();
  try {
    const ofDaemon = await withDaemon(goldenConfig(retriever.url), async (daemon) => {
      await importSet(daemon, queries);
      await pinRun(daemon, await runSet(daemon));
      const phases: Phase[] = [
        { what: 'scrapes alone', work: () => pause(quick ? 500 : 3000) },
        {
          what: `a golden run of ${queries} queries in ${SEGMENTS} segments, compared with a baseline`,
          work: runSet,
        },
        ...bodies.map(([what, bodyOf]) => ({
          what: `an OpenTelemetry body of ${what}`,
          work: ({ url }: Daemon) => postTraces(url, bodyOf()),
        })),
        {
          what: 'a JSON body of 1,000 live queries with vectors of 1,536 numbers as text',
          work: ({ url }) => post(`${url}/v1/queries`, queriesAsText(quick ? 10 : 1000), 202),
        },
        {
          what: 'all of these at once',
          work: (at) =>
            atOnce(
              at,
              bodies.map(([, bodyOf]) => bodyOf),
            ),
        },
      ];
      const measured: Figure[] = [];
      for (const { what, work } of phases) {
        const longest = await longestWaits(daemon, quick ? 1 : 3, () => work(daemon));
        measured.push(figure(`longest wait: ${what}`, 'ms', longest));
      }
      return measured;
    });
    const density = figure('longest wait: density windows in threads', 'ms', await densityWaits(quick));
    const all = [...ofDaemon, density];
    return {
      row: 'longest task of the main thread',
      name: 'event-loop',
      figures: [...all, figure('longest wait of an idle thread at the same time', 'ms', [await idle.stop()])],
      bars: [
        {
          what: 'longest wait for the main thread',
          value: Math.max(...all.map(({ high }) => high)),
          side: 'at most',
          limit: LIMIT_MS,
          unit: 'ms',
        },
      ],
      notes: [
        'Each wait is the largest value of `nodejs_eventloop_lag_max_seconds` in /metrics, which the benchmark scrapes twice a second. Up to 10 ms of each wait come from the sampling interval of this metric. The wait of the idle thread shows the load of the machine.',
      ],
    };
  } finally {
    await retriever.stop();
  }
};

/** Returns live queries as JSON, with the numbers of the vectors in full precision, as some clients send them. */
function queriesAsText(count: number): Buffer {
  const numbers = Array.from({ length: 1536 }, (_, i) => Math.sin(i));
  return Buffer.from(liveBatch(count, () => `,"embedding":${JSON.stringify(numbers)}`));
}

function postTraces(url: string, body: Buffer): Promise<void> {
  return post(`${url}/v1/traces`, body, 200);
}

async function post(url: string, body: Buffer, expected: number): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
  if (response.status !== expected) throw new Error(`The daemon answers ${await response.text()}`);
}

/**
 * Runs three kinds of work at once: the request body that takes the longest to read, a golden run, and live queries at
 * a rate below the daemon's capacity.
 */
async function atOnce(daemon: Daemon, bodies: readonly (() => Buffer)[]): Promise<void> {
  const [body = () => Buffer.alloc(0)] = bodies;
  const { url } = daemon;
  const live = { url, path: '/v1/queries', connections: 8, seconds: 2, pauseMs: 20, body: () => liveQuery() };
  await Promise.all([runSet(daemon), postTraces(url, body()), sendLoad(live)]);
}

/** Returns the longest event-loop delay in each round of the work. */
async function longestWaits(daemon: Daemon, rounds: number, work: () => Promise<unknown>): Promise<number[]> {
  const longest: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await longestWaitMs(daemon);
    const seen: number[] = [];
    const done = new AbortController();
    const scraping = (async () => {
      while (!done.signal.aborted) {
        await pause(SCRAPE_EVERY_MS);
        seen.push(await longestWaitMs(daemon));
      }
    })();
    await work().finally(() => done.abort());
    await scraping;
    longest.push(Math.max(...seen));
  }
  return longest;
}

/** Longest event-loop delay of the daemon since the last call. */
async function longestWaitMs({ url }: Daemon): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text();
  const seconds = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(page)?.[1];
  if (seconds === undefined) throw new Error('The daemon does not export its longest wait.');
  return Number(seconds) * 1000;
}

async function densityWaits(quick: boolean): Promise<number[]> {
  const pool = createComputePool({ threads: 1, maxWaiting: 1 });
  const { scored, vectors, baseline } = windowOf(quick ? 200 : 10_000, 768);
  const shared = new Float32Array(new SharedArrayBuffer(vectors.data.byteLength));
  shared.set(vectors.data);
  const traffic = { queries: scored, vectors: { ...vectors, data: shared } };
  const never = new AbortController().signal;
  await pool.run('measureWindow', { traffic, baseline }, never);
  const waits: number[] = [];
  for (let round = 0; round < 3; round++) {
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    await timed(() => pool.run('measureWindow', { traffic, baseline }, never));
    await pause(20);
    delay.disable();
    waits.push(delay.max / 1e6);
  }
  await pool.close();
  return waits;
}

/** Measures the longest event-loop delay of an idle thread; only the machine can cause such a delay. */
function watchIdleThread(): { stop(): Promise<number> } {
  const thread = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const delay = require('node:perf_hooks').monitorEventLoopDelay({ resolution: 10 });
     delay.enable();
     parentPort.once('message', () => parentPort.postMessage(delay.max / 1e6));`,
    { eval: true, execArgv: [] },
  );
  return {
    stop: () =>
      new Promise((resolve, reject) => {
        thread.once('message', resolve);
        thread.once('error', reject);
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        thread.postMessage('stop');
      }),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
