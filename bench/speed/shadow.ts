import { jobCatalogue } from '../../src/app/jobs.ts';
import { createClient } from '../../src/client/client.ts';
import { openJobQueue } from '../../src/platform/queue/bullmq.ts';
import { type Daemon, databaseOf, startScript, withDaemon } from './child.ts';
import { timeCalls } from './client-call.ts';
import { sendLoad } from './http-load.ts';
import { liveQuery } from './live-config.ts';
import { alternate, figure, type MeasureRow, quantile } from './row.ts';

/**
 * Compares a pipeline that has a shadow with a pipeline that has none: the latency of single-query requests at a steady
 * rate, and the latency of client calls.
 */
export const shadow: MeasureRow = async (quick) => {
  const retriever = await startScript('bare-retriever.ts');
  const config = (shadows: string): string => `
server: {port: 0, max_requests_per_minute: 100000000}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever.url}/search"}
    sampling: {rate: 0.1, max_per_minute: 100000000}
    shadow: ${shadows}
`;
  const one = `[{name: next, retriever: {kind: http, url: "${retriever.url}/search"}, live_rate: 1, max_calls_per_day: 10000000, max_per_second: 50}]`;
  try {
    return await withDaemon(config('[]'), (without) =>
      withDaemon(config(one), async (beside) => {
        const load = { path: '/v1/queries', connections: 16, pauseMs: 40, body: () => liveQuery() };
        const p99 = async (daemon: Daemon, seconds: number): Promise<number> => {
          await measureNow(daemon);
          return (await sendLoad({ ...load, url: daemon.url, seconds })).p99Ms;
        };
        const track = async (daemon: Daemon): Promise<number> => {
          await measureNow(daemon);
          const client = createClient({ url: daemon.url, pipeline: 'docs' });
          try {
            // The client makes about 400 calls a second, the rate at which `sendLoad` sends requests.
            return quantile(await timeCalls(client, quick ? 100 : 3000, 25), 0.99);
          } finally {
            await client.close();
          }
        };
        for (const daemon of [without, beside]) await p99(daemon, quick ? 0.2 : 5);
        const rounds = await alternate(quick ? 1 : 5, {
          without: () => p99(without, quick ? 0.2 : 8),
          beside: () => p99(beside, quick ? 0.2 : 8),
        });
        const calls = await alternate(quick ? 1 : 5, { without: () => track(without), beside: () => track(beside) });
        const plain = figure('p99 of ingest without a shadow', 'ms', rounds.without);
        const shadowed = figure('p99 of ingest while a shadow gets 50 queries a second', 'ms', rounds.beside);
        const plainCall = figure('p99 of client.track without a shadow', 'µs', calls.without);
        const shadowedCall = figure('p99 of client.track while a shadow gets queries', 'µs', calls.beside);
        return {
          row: 'ingest and client with a shadow',
          name: 'shadow',
          figures: [plain, shadowed, plainCall, shadowedCall],
          bars: [
            {
              what: 'p99 of ingest with a shadow, relative to p99 without',
              value: shadowed.median / plain.median,
              side: 'at most',
              limit: 1.5,
              unit: 'times',
            },
            {
              what: 'p99 of a client call, with a shadow',
              value: shadowedCall.median / 1000,
              side: 'at most',
              limit: 1,
              unit: 'ms',
            },
          ],
          notes: [
            'Each daemon receives about 400 requests a second with one query each, and samples a tenth of the queries. Users of the service never wait for the shadow, because a worker job sends the stored queries to it. In this benchmark, the worker and the API run in one process, and the client runs in a separate process, as in a service. In the daemons with and without a shadow, the job starts at the beginning of each round.',
          ],
        };
      }),
    );
  } finally {
    await retriever.stop();
  }
};

let started = 0;

async function measureNow(daemon: Daemon): Promise<void> {
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const backend = { kind: 'postgres', connection: { ...databaseOf(daemon), ssl: false } } as const;
  const queue = await openJobQueue({ backend, jobs: jobCatalogue, logger });
  try {
    started += 1;
    await queue.enqueue('ask-shadows', {}, `bench-${started}`);
  } finally {
    await queue.close();
  }
}
