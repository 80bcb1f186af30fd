import { readFileSync } from 'node:fs';
import { type Daemon, databaseOf, type Server, startScript, withDaemon } from './child.ts';
import { type Load, sendLoad } from './http-load.ts';
import { liveBatch, liveConfig, liveQuery } from './live-config.ts';
import { profileDaemon } from './profile.ts';
import { alternate, figure, type MeasureRow } from './row.ts';

const BATCH = 100;

/**
 * Compares the ingest of live queries with two other servers: a minimal server that does the same work, and a server
 * that only parses the body. A tenth of the queries is stored.
 */
export const ingest: MeasureRow = (quick) =>
  withDaemon(liveConfig(0.1), async (daemon) => {
    const bare = await startScript('bare-fastify.ts');
    const least = await startScript('least-ingest.ts', JSON.stringify(databaseOf(daemon)));
    try {
      const seconds = quick ? 0.3 : 4;
      // Bodies are created in advance, so that the sender is not the bottleneck.
      const bodies = Array.from({ length: quick ? 20 : 1500 }, () => liveBatch(BATCH));
      let next = 0;
      const batches: Omit<Load, 'url' | 'seconds'> = {
        path: '/v1/queries',
        connections: 32,
        body: () => bodies[next++ % bodies.length] ?? '',
      };
      const singles: Omit<Load, 'url' | 'seconds'> = {
        path: '/v1/queries',
        connections: 256,
        body: () => liveQuery(),
      };
      const rate = async (load: Omit<Load, 'url' | 'seconds'>, url: string): Promise<number> =>
        (await sendLoad({ ...load, url, seconds })).requestsPerSecond;
      const costs = { singles: [] as number[], leastSingles: [] as number[] };
      /** Measures single requests, including the CPU time of each server. */
      const costOf = async (name: keyof typeof costs, { url, pid }: Server): Promise<number> => {
        const before = processorMs(pid);
        const { accepted, requestsPerSecond } = await sendLoad({ ...singles, url, seconds });
        costs[name].push(((processorMs(pid) - before) * 1000) / accepted);
        return requestsPerSecond;
      };
      for (const { url } of [daemon, least, bare]) await sendLoad({ ...singles, url, seconds: quick ? 0.1 : 2 });
      const rates = await alternate(quick ? 1 : 5, {
        batches: async () => BATCH * (await rate(batches, daemon.url)),
        bareBatches: async () => BATCH * (await rate(batches, bare.url)),
        singles: () => costOf('singles', daemon),
        leastSingles: () => costOf('leastSingles', least),
        bareSingles: () => rate(singles, bare.url),
      });
      const send = (seconds: number) => (profiled: Daemon) => sendLoad({ ...singles, url: profiled.url, seconds });
      const profile = await profileDaemon(liveConfig(0.1), send(quick ? 0.1 : 2), send(seconds));
      const inBatches = figure(`recalld, batches of ${BATCH}, 32 connections`, 'queries/s', rates.batches);
      const single = figure('recalld, one query per request, 256 connections', 'requests/s', rates.singles);
      const leastSingle = figure(
        'the minimal server for the same work, one query per request',
        'requests/s',
        rates.leastSingles,
      );
      return {
        row: 'ingest, a tenth sampled',
        name: 'ingest',
        figures: [
          inBatches,
          figure(`bare Fastify, batches of ${BATCH}`, 'queries/s', rates.bareBatches),
          single,
          leastSingle,
          figure('bare Fastify, one query per request', 'requests/s', rates.bareSingles),
          figure('CPU time of recalld, one query per request', 'µs', costs.singles),
          figure('CPU time of the minimal server, one query per request', 'µs', costs.leastSingles),
        ],
        bars: [
          {
            what: `throughput with batches of ${BATCH}`,
            value: inBatches.median,
            side: 'at least',
            limit: 20_000,
            unit: 'queries/s',
          },
          {
            what: 'throughput with one query per request, relative to the minimal server',
            value: single.median / leastSingle.median,
            side: 'at least',
            limit: 0.7,
            unit: 'times',
          },
        ],
        notes: [
          'The CPU profile covers requests with one query each. The minimal server parses the body, hashes the session, stores a tenth of the rows and one count per minute in shared commits, and responds after the commit (`bench/speed/least-ingest.ts`); bare Fastify only parses the body. CPU time covers all threads of the server, including the garbage collector threads of V8. Sender, server and PostgreSQL share the CPUs. A response waits for the commit, so the benchmark uses enough connections to keep the server busy.',
        ],
        profile,
      };
    } finally {
      await least.stop();
      await bare.stop();
    }
  });

/** Returns the CPU time that a process has used so far; always 0 on systems other than Linux. */
export function processorMs(pid: number): number {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The fields follow the process name, which may contain any character: user and system time are the 12th and 13th, in
  // hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
