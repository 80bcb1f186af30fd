import { Client } from 'pg';
import { type Daemon, databaseOf, withDaemon } from './child.ts';
import { copyIn, copyOut } from './copy.ts';
import { sendLoad } from './http-load.ts';
import { liveBatch, liveConfig } from './live-config.ts';
import { profileDaemon } from './profile.ts';
import { alternate, figure, type MeasureRow, timed } from './row.ts';

const BATCH = 100;
const COPIED_ROWS = 10_000;

/**
 * Compares the ingest of live queries with a COPY of the same rows into the same database. Every query is stored with
 * its vector.
 */
export const ingestDurable: MeasureRow = (quick) =>
  withDaemon(liveConfig(1), async (daemon) => {
    const client = new Client(databaseOf(daemon));
    await client.connect();
    try {
      const seconds = quick ? 0.5 : 5;
      const vector = Buffer.from(Float32Array.from({ length: 384 }, (_, i) => Math.sin(i)).buffer).toString('base64');
      const ours = async (): Promise<number> => BATCH * (await sendBatches(daemon, seconds, vector));
      await ours();
      const rows = await copyOut(client, `select * from live_queries limit ${COPIED_ROWS}`);
      const count = rows.toString('latin1').split('\n').length - 1;
      await client.query('create table copied (like live_queries including defaults including storage)');
      const copy = async (): Promise<number> => {
        const ms = await timed(() => copyIn(client, 'copied', rows));
        await client.query('truncate copied');
        return (count / ms) * 1000;
      };
      await copy();
      const rates = await alternate(quick ? 1 : 3, { ours, copy });
      const profile = await profileDaemon(
        liveConfig(1),
        (profiled) => sendBatches(profiled, quick ? 0.2 : 3, vector),
        (profiled) => sendBatches(profiled, seconds, vector),
      );
      const kept = figure(`recalld, batches of ${BATCH}, vectors of 384 numbers`, 'rows/s', rates.ours);
      const copied = figure('bare COPY of the same rows, no index', 'rows/s', rates.copy);
      return {
        row: 'ingest, all sampled',
        name: 'ingest-durable',
        figures: [kept, copied],
        bars: [
          {
            what: 'throughput in rows, relative to COPY',
            value: kept.median / copied.median,
            side: 'at least',
            limit: 0.5,
            unit: 'times',
          },
        ],
        notes: [],
        profile,
      };
    } finally {
      await client.end();
    }
  });

async function sendBatches(daemon: Daemon, seconds: number, vector: string): Promise<number> {
  const body = () => liveBatch(BATCH, () => `,"embedding":"${vector}"`);
  const { requestsPerSecond } = await sendLoad({
    url: daemon.url,
    path: '/v1/queries',
    connections: 8,
    seconds,
    body,
  });
  return requestsPerSecond;
}
