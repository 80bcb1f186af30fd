import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { writeLargeHistory } from '../../test/support/large-history.ts';
import { type Daemon, databaseOf, withDaemon } from './child.ts';
import { liveConfig } from './live-config.ts';
import { figure, type MeasureRow } from './row.ts';

const LIMIT_MS = 200;

interface Scrape {
  readonly tookMs: number;
  readonly ageSeconds: number;
}

/** Measures a scrape with a large history, and a scrape while the underlying tables are locked. */
export const scrapeLarge: MeasureRow = (quick) =>
  withDaemon(liveConfig(1), async (daemon) => {
    const share = quick ? 100 : 1;
    const history = {
      pipeline: 'docs',
      goldenQueries: 100_000 / share,
      oldRuns: 200_000 / share,
      liveQueries: 500_000 / share,
    };
    const client = new Client(databaseOf(daemon));
    await client.connect();
    try {
      await writeLargeHistory(client, history);
      const writtenAt = performance.now();
      await scrapeUntil(daemon, (age) => age < (performance.now() - writtenAt) / 1000);
      const beside = await scrapeTimes(daemon, quick ? 3 : 15);
      await client.query('begin');
      await client.query('lock table golden_runs, latest_measurements, measurement_gaps');
      await scrapeUntil(daemon, (age) => age > 3);
      const locked = await scrapeTimes(daemon, quick ? 3 : 15);
      await client.query('rollback');
      const quiet = figure('/metrics under this load', 'ms', milliseconds(beside));
      const held = figure('/metrics while the database does not respond', 'ms', milliseconds(locked));
      return {
        row: '/metrics with a 100k golden set and 500k live rows',
        name: 'scrape-large',
        figures: [
          quiet,
          figure(
            'age of the exported rows',
            's',
            beside.map(({ ageSeconds }) => ageSeconds),
          ),
          held,
        ],
        bars: [
          { what: 'duration of a scrape', value: quiet.median, side: 'at most', limit: LIMIT_MS, unit: 'ms' },
          {
            what: 'duration of a scrape while the database does not respond',
            value: held.median,
            side: 'at most',
            limit: LIMIT_MS,
            unit: 'ms',
          },
        ],
        notes: [
          `The database contains a set of ${history.goldenQueries} queries whose run was cancelled halfway, ${history.oldRuns} runs of 50 other sets, ${history.liveQueries} live queries of today, and feedback on a tenth of them. /metrics is scraped every 300 ms, so that recalld reads the rows as often as it can.`,
        ],
      };
    } finally {
      await client.end();
    }
  });

function milliseconds(scrapes: readonly Scrape[]): number[] {
  return scrapes.map(({ tookMs }) => tookMs);
}

async function scrapeTimes(daemon: Daemon, rounds: number): Promise<Scrape[]> {
  const scrapes: Scrape[] = [];
  for (let round = 0; round < rounds; round++) {
    scrapes.push(await scrape(daemon));
    await pause(300);
  }
  return scrapes;
}

async function scrapeUntil(daemon: Daemon, isSo: (ageSeconds: number) => boolean): Promise<void> {
  const giveUpAt = performance.now() + 120_000;
  while (!isSo((await scrape(daemon)).ageSeconds)) {
    if (performance.now() > giveUpAt) throw new Error('The rows behind /metrics were not read within two minutes.');
    await pause(250);
  }
}

async function scrape({ url }: Daemon): Promise<Scrape> {
  const startedAt = performance.now();
  const page = await (await fetch(`${url}/metrics`)).text();
  return {
    tookMs: performance.now() - startedAt,
    ageSeconds: Number(/^recalld_snapshot_age_seconds (\S+)$/m.exec(page)?.[1]),
  };
}
