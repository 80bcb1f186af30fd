import { Client } from 'pg';
import {
  type Answered,
  commandsOf,
  pagesOf,
  readPages,
  readRowsOfMetrics,
  routesOf,
  runCommand,
  runCommands,
  runJobs,
  watchLivez,
} from '../history/ask.ts';
import { FULL_PIPELINE, type HistoryShape, writeDays, writeGoldenSet } from '../history/write-history.ts';
import { type Daemon, databaseOf, startScript, withDaemon } from './child.ts';
import { figure, type MeasureRow } from './row.ts';

const DAY_MS = 86_400_000;
/** Minimum difference in milliseconds; smaller differences are noise. */
const MIN_DIFFERENCE_MS = 50;

/** Compares a fleet after nine days with the same fleet after ninety days, to find what grows. */
export const history: MeasureRow = async (quick) => {
  const retriever = await startScript('bare-retriever.ts');
  const shape: HistoryShape = {
    pipelines: quick ? 3 : 30,
    liveQueriesPerDay: quick ? 500 : 55_556,
    goldenQueries: 20,
    until: new Date(Math.floor(Date.now() / 60_000) * 60_000),
  };
  const [short, long] = [9, 90];
  try {
    return await withDaemon(historyConfig(retriever.url, shape.pipelines), async (daemon) => {
      const client = new Client(databaseOf(daemon));
      await client.connect();
      try {
        // The temporary rows need not survive a crash.
        await client.query('set synchronous_commit = off');
        await client.query(`alter system set max_wal_size = '4GB'`);
        await client.query('select pg_reload_conf()');
        await writeGoldenSet(client, shape);
        await writeDays(client, shape, 0, short);
        await client.query('vacuum analyze');
        const before = await askAll(daemon, shape, short);
        await writeDays(client, shape, short, long);
        await client.query('vacuum analyze');
        const after = await askAll(daemon, shape, long);
        const size = await client.query<{ gb: number }>(
          `select pg_database_size(current_database()) / 1e9::double precision as gb`,
        );
        const from = new Date(shape.until.getTime() - long * DAY_MS).toISOString();
        const backtest = await runCommand(daemon.folder, ['backtest', '--from', from, '--json']);
        if (backtest.code !== 0) throw new Error(`backtest ended with ${backtest.code}: ${backtest.stderr}`);
        const stopped = await runCommand(daemon.folder, ['backtest', '--from', from, '--json'], 4000);
        return resultOf(shape, { before, after, gb: size.rows[0]?.gb ?? 0, backtest, stopped, days: [short, long] });
      } finally {
        await client.end();
      }
    });
  } finally {
    await retriever.stop();
  }
};

interface Asked {
  readonly pages: readonly Answered[];
  readonly others: readonly Answered[];
  readonly livezMs: number;
}

async function askAll(daemon: Daemon, { until }: HistoryShape, days: number): Promise<Asked> {
  const from = new Date(until.getTime() - days * DAY_MS);
  const incidents = (await (await fetch(`${daemon.url}/v1/incidents?pipeline=${FULL_PIPELINE}&limit=1`)).json()) as {
    readonly items: readonly { readonly id: string }[];
  };
  const paths = pagesOf(FULL_PIPELINE, incidents.items[0]?.id ?? '', from, until);
  const pages = await readPages(daemon, paths);
  const livezMs = await watchLivez(daemon, () => readPages(daemon, paths));
  const week = new Date(until.getTime() - 7 * DAY_MS).toISOString();
  const others = [
    ...(await readPages(daemon, routesOf(FULL_PIPELINE, from, until))),
    await readRowsOfMetrics(daemon),
    ...(await runCommands(daemon, [...commandsOf(FULL_PIPELINE), ['backtest', '--from', week]])),
    ...(await runJobs(daemon, FULL_PIPELINE)),
  ];
  return { pages, others, livezMs };
}

interface Measured {
  readonly before: Asked;
  readonly after: Asked;
  readonly gb: number;
  readonly backtest: Awaited<ReturnType<typeof runCommand>>;
  readonly stopped: Awaited<ReturnType<typeof runCommand>>;
  readonly days: readonly [number, number];
}

function resultOf(
  shape: HistoryShape,
  { before, after, gb, backtest, stopped, days }: Measured,
): ReturnType<typeof rowOf> {
  const [short, long] = days;
  const then = [...before.pages, ...before.others];
  const growth = [...after.pages, ...after.others].map((one, index) => {
    const was = then[index]?.ms ?? 0;
    return { ...one, was, times: Math.max(one.ms, MIN_DIFFERENCE_MS) / Math.max(was, MIN_DIFFERENCE_MS) };
  });
  const grown = growth.toSorted((a, b) => b.times - a.times);
  const worst = grown.slice(0, 5).map(({ what, times }) => `${what} ${times.toFixed(2)}`);
  const slowest = Math.max(...after.pages.map(({ ms }) => ms));
  const largest = Math.max(...after.pages.map(({ bytes }) => bytes));
  const live = Math.round((shape.liveQueriesPerDay * long) / 1000) * 1000;
  return rowOf(
    [
      ...growth.map(({ what, ms, was }) =>
        figure(`${what}, after ${long} days (${was.toFixed(0)} ms after ${short} days)`, 'ms', [ms]),
      ),
      figure('longest wait for /livez while the pages are read', 'ms', [before.livezMs, after.livezMs]),
      figure(`backtest of ${long} days of all pipelines`, 's', [backtest.ms / 1000]),
      figure('memory of the backtest', 'MB', [backtest.peakMb]),
      figure('time from SIGTERM to the end of the backtest', 'ms', [stopped.ms]),
    ],
    [
      {
        what: 'largest growth of a duration with ten times the history',
        value: grown[0]?.times ?? 0,
        side: 'at most',
        limit: 2,
        unit: 'times',
      },
      { what: 'slowest page', value: slowest, side: 'at most', limit: 500, unit: 'ms' },
      { what: 'largest page', value: largest / 1000, side: 'at most', limit: 500, unit: 'kB' },
      {
        what: 'longest wait for /livez',
        value: Math.max(before.livezMs, after.livezMs),
        side: 'at most',
        limit: 100,
        unit: 'ms',
      },
      { what: `backtest of ${long} days`, value: backtest.ms / 1000, side: 'at most', limit: 60, unit: 's' },
      { what: 'memory of the backtest', value: backtest.peakMb, side: 'at most', limit: 250, unit: 'MB' },
      {
        what: 'exit code of a backtest after a SIGTERM',
        value: stopped.code ?? 0,
        side: 'at least',
        limit: 130,
        unit: '',
      },
    ],
    [
      `Each of ${shape.pipelines} pipelines has a golden run of ${shape.goldenQueries} queries every hour, eight measurements every five minutes, and an incident, a deployment and eight check changes a day. One pipeline also has a judge, a shadow and density monitoring. After ${long} days, the database contains ${live} live queries and ${gb.toFixed(1)} GB; the first ${short} days have the same volume per day. Pages show the whole period. To compute the growth of a duration, the benchmark counts durations below ${MIN_DIFFERENCE_MS} ms as ${MIN_DIFFERENCE_MS} ms. The durations that grow most, with their factors: ${worst.join(', ')}.`,
    ],
  );
}

function rowOf(
  figures: ReturnType<typeof figure>[],
  bars: Awaited<ReturnType<MeasureRow>>['bars'],
  notes: readonly string[],
) {
  return { row: 'ten times the history', name: 'history', figures, bars, notes };
}

function historyConfig(url: string, pipelines: number): string {
  const entries = Array.from({ length: pipelines }, (_, index) => {
    const full = `
    vector_store: {kind: qdrant, url: "http://127.0.0.1:9", collection: chunks}
    judged: {judge: {kind: none}, queries_per_day: 200}
    shadow: [{name: other, live_rate: 0, retriever: {kind: http, url: "${url}/search"}}]`;
    return `
  - name: p${index}
    retriever: {kind: http, url: "${url}/search"}
    privacy: {retention_days: 100}
    golden: [{set: faq, cron: "0 0 1 1 *", cutoffs: [5, 10]}]
    checks:
      - {measure: ndcg@10, below: 0.8, severity: critical}
      - {regression: ndcg@10, drop: 0.02, severity: critical}
      - {stale_labels_above: 0.02, severity: warning}
      - {measure: error_ratio, above: 0.5, severity: warning}
      - {measure: feedback_positive_ratio, below: 0.1, severity: warning}${index === 0 ? full : ''}`;
  });
  return `server: {port: 0, max_requests_per_minute: 100000000}\npipelines:${entries.join('')}\n`;
}
