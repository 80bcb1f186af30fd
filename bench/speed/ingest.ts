import { type Daemon, startScript, withDaemon } from './child.ts';
import { type Load, sendLoad } from './http-load.ts';
import { liveBatch, liveConfig, liveQuery } from './live-config.ts';
import { profileDaemon } from './profile.ts';
import { alternate, figure, type MeasureRow } from './row.ts';

const BATCH = 100;

/** Live queries of which a tenth is kept, against an endpoint that only parses. */
export const ingest: MeasureRow = (quick) =>
  withDaemon(liveConfig(0.1), async (daemon) => {
    const bare = await startScript('bare-fastify.ts');
    try {
      const seconds = quick ? 0.3 : 4;
      // Bodies are made before: the sender shall not be what is slow.
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
      await sendLoad({ ...singles, url: daemon.url, seconds: quick ? 0.1 : 2 });
      await sendLoad({ ...singles, url: bare.url, seconds: quick ? 0.1 : 1 });
      const rates = await alternate(quick ? 1 : 3, {
        batches: async () => BATCH * (await rate(batches, daemon.url)),
        bareBatches: async () => BATCH * (await rate(batches, bare.url)),
        singles: () => rate(singles, daemon.url),
        bareSingles: () => rate(singles, bare.url),
      });
      const send = (seconds: number) => (profiled: Daemon) => sendLoad({ ...singles, url: profiled.url, seconds });
      const profile = await profileDaemon(liveConfig(0.1), send(quick ? 0.1 : 2), send(seconds));
      const inBatches = figure(`recalld, batches of ${BATCH}, 32 connections`, 'queries/s', rates.batches);
      const single = figure('recalld, one query a request, 256 connections', 'requests/s', rates.singles);
      const bareSingle = figure('bare Fastify, one query a request', 'requests/s', rates.bareSingles);
      return {
        row: 'ingest, a tenth kept',
        name: 'ingest',
        figures: [
          inBatches,
          figure(`bare Fastify, batches of ${BATCH}`, 'queries/s', rates.bareBatches),
          single,
          bareSingle,
        ],
        bars: [
          { what: 'in batches', value: inBatches.median, side: 'at least', limit: 20_000, unit: 'queries/s' },
          {
            what: 'single requests over those of bare Fastify',
            value: single.median / bareSingle.median,
            side: 'at least',
            limit: 0.6,
            unit: 'times',
          },
        ],
        notes: [
          'The profile is of single requests. Sender, daemon and PostgreSQL share the processors. An answer waits for the commit, so there are connections enough that the wait of one is the work of another.',
        ],
        profile,
      };
    } finally {
      await bare.stop();
    }
  });
