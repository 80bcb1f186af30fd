import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Client, createClient } from '../../src/client/client.ts';
import { withDaemon } from './child.ts';
import { liveConfig } from './live-config.ts';
import { type Bar, type Figure, figure, type MeasureRow, quantile, type RowResult } from './row.ts';

/** Measures how long a client call takes in the calling service while the client sends to a daemon. */
export const clientCall: MeasureRow = (quick) =>
  withDaemon(liveConfig(0.1), async (daemon) => {
    const client = createClient({ url: daemon.url, pipeline: 'docs' });
    const rounds: number[][] = [];
    for (let round = 0; round < (quick ? 1 : 5); round++) rounds.push(await timeCalls(client, quick ? 200 : 5000, 1));
    await client.close();
    return callRow('client-call', 'call of the client in the host process', 'client.track', rounds);
  });

/** Measures how long a call of the Python client takes, from one thread and from concurrent threads; needs python3. */
export const pythonClientCall: MeasureRow = (quick) =>
  withDaemon(liveConfig(0.1), async (daemon) => {
    const script = path.join(import.meta.dirname, 'python_client_call.py');
    const env = {
      ...process.env,
      NO_PROXY: '*',
      PYTHONPATH: path.resolve(import.meta.dirname, '../../clients/python'),
    };
    const time = async (threads: number): Promise<readonly number[][]> => {
      const args = [script, daemon.url, quick ? '1' : '5', quick ? '200' : '5000', String(threads)];
      const { stdout } = await promisify(execFile)('python3', args, { env, maxBuffer: 1e8 });
      return JSON.parse(stdout) as number[][];
    };
    const alone = callRow(
      'python-client-call',
      'call of the Python client in the host process',
      'Client.track',
      await time(1),
    );
    const p99 = await time(THREADS).then((rounds) => rounds.map((calls) => quantile(calls, 0.99)));
    const together = figure(`p99 with ${THREADS} threads`, 'µs', p99);
    return {
      ...alone,
      figures: [...alone.figures, together],
      bars: [...alone.bars, callBar(together)],
      notes: [
        'Each thread reports one query at a time to a running daemon, with the default settings of the client, ' +
          'and pauses, so that all threads together report about 2,000 queries a second.',
      ],
    };
  });

/** Number of concurrent threads: as many as a gunicorn worker may have. */
const THREADS = 8;

function callRow(name: string, row: string, call: string, rounds: readonly (readonly number[])[]): RowResult {
  const p99 = figure(
    `p99 of ${call} with a vector of 384 numbers`,
    'µs',
    rounds.map((calls) => quantile(calls, 0.99)),
  );
  return {
    row,
    name,
    figures: [
      figure(
        'p50',
        'µs',
        rounds.map((calls) => quantile(calls, 0.5)),
      ),
      p99,
      figure(
        'longest',
        'µs',
        rounds.map((calls) => Math.max(...calls)),
      ),
    ],
    bars: [callBar(p99, `p99 of ${call}`)],
    notes: [],
  };
}

function callBar({ what, median }: Figure, named = what): Bar {
  return { what: named, value: median / 1000, side: 'at most', limit: 1, unit: 'ms' };
}

const embedding = Float32Array.from({ length: 384 }, (_, i) => Math.sin(i));
const results = Array.from({ length: 10 }, (_, i) => ({ id: `chunk-${i}`, score: 1 - i / 10 }));

/**
 * Returns the duration of each call in microseconds.
 *
 * @param pauseMs pause after every ten calls; a pause of 1 ms yields a few thousand queries per second, as in a busy
 *   service
 */
export async function timeCalls(client: Client, count: number, pauseMs: number): Promise<number[]> {
  const calls: number[] = [];
  for (let call = 0; call < count; call++) {
    const startedAt = performance.now();
    client.track({ text: 'How do I change my delivery address?', embedding, results, topK: 10, latencyMs: 42 });
    calls.push((performance.now() - startedAt) * 1000);
    if (call % 10 === 9) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return calls;
}
