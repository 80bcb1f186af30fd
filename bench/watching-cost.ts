/**
 * Measures the cost of monitoring one pipeline for a day: 10 live queries per second, of which a tenth is sampled, and
 * 300 golden queries per hour.
 *
 *     npx tsx bench/watching-cost.ts [--seconds 60] [--runs 4]
 *
 * Needs the build in dist/. Sends traffic for the given number of seconds, then starts golden runs. The cost of a day
 * is 86,400 times the mean cost of a second of traffic plus 24 times the mean cost of a golden run. Scheduled work of
 * the daemon is included in the seconds of traffic.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type Daemon, databaseOf, program, run, withDaemon } from './speed/child.ts';
import { liveQuery } from './speed/live-config.ts';

const PER_SECOND = 10;
const QUESTIONS = 300;
const RUNS_A_DAY = 24;
const DAY_SECONDS = 86_400;
/** Number of ticks per second in the CPU times of /proc. */
const TICKS = 100;

const args = process.argv.slice(2);
const valueOf = (flag: string, otherwise: number): number =>
  args.includes(flag) ? Number(args[args.indexOf(flag) + 1]) : otherwise;
const seconds = valueOf('--seconds', 60);
const runs = valueOf('--runs', 4);

let asked = 0;
const retriever = createServer((request, response) => {
  asked += 1;
  request.resume().on('end', () => {
    const results = Array.from({ length: 10 }, (_, i) => ({ id: `d${i}`, score: 1 - i / 10 }));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ results }));
  });
});
retriever.listen(0, '127.0.0.1');
await new Promise((resolve) => retriever.once('listening', resolve));
const address = retriever.address();
const port = address !== null && typeof address === 'object' ? address.port : 0;
const config = `
server: {port: 0}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:${port}/search"}
    sampling: {rate: 0.1}
    golden: [{set: faq}]
`;

/** Resources used up to a point in time. */
interface Used {
  /** CPU time of the daemon, in seconds. */
  readonly daemon: number;
  /** CPU time of the daemon's PostgreSQL, in seconds. */
  readonly postgres: number;
  readonly rows: number;
  readonly bytes: number;
  readonly asked: number;
}

await withDaemon(config, async (daemon) => {
  const client = new Client(databaseOf(daemon));
  await client.connect();
  const rows = Array.from({ length: QUESTIONS }, (_, i) => `question ${i},d${i % 20}`);
  writeFileSync(path.join(daemon.folder, 'set.csv'), ['question,document', ...rows].join('\n'));
  await run(process.execPath, [program, 'golden', 'import', 'set.csv', '--set', 'faq'], daemon.folder);
  const goldenRun = () =>
    run(process.execPath, [program, 'golden', 'run', '--pipeline', 'docs', '--set', 'faq', '--json'], daemon.folder);
  // Not measured: the first run has no baseline, and creates the rows that the other runs read.
  await goldenRun();

  const start = await used(client, daemon);
  await sendTraffic(daemon);
  const afterTraffic = await used(client, daemon);
  for (let i = 0; i < runs; i++) await goldenRun();
  const afterRuns = await used(client, daemon);
  await client.end();

  const aDay = (key: keyof Used): [traffic: number, golden: number] => [
    ((afterTraffic[key] - start[key]) / seconds) * DAY_SECONDS,
    ((afterRuns[key] - afterTraffic[key]) / runs) * RUNS_A_DAY,
  ];
  const [load = 0] = os.loadavg();
  process.stdout.write(`load average ${load.toFixed(1)}, ${seconds} s of traffic, ${runs} runs\n`);
  say('processor time of the daemon', aDay('daemon'), 's');
  say('processor time of PostgreSQL', aDay('postgres'), 's');
  say('rows written', aDay('rows'), '');
  say('calls of the retriever', aDay('asked'), '');
  // Excludes traffic, because a minute of traffic only fills the first pages of each table; bench/row-sizes.ts measures
  // the sizes of the rows that traffic adds.
  process.stdout.write(`growth of the tables by golden runs: ${(aDay('bytes')[1] / 1e6).toFixed(1)} MB\n`);
  const status = readFileSync(`/proc/${daemon.pid}/status`, 'utf8');
  process.stdout.write(
    `resident set of the daemon: ${Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024)} MB\n`,
  );
});
retriever.close();

function say(what: string, [traffic, golden]: readonly [number, number], unit: string): void {
  const words = [traffic, golden, traffic + golden].map((value) => Math.round(value).toLocaleString('en'));
  process.stdout.write(`| ${what} | ${words.join(` ${unit} | `)} ${unit} |\n`);
}

async function sendTraffic({ url }: Daemon): Promise<void> {
  const startedAt = performance.now();
  for (let sent = 0; sent < seconds * PER_SECOND; sent++) {
    await sleep(Math.max(0, startedAt + (sent * 1000) / PER_SECOND - performance.now()));
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/queries`, { method: 'POST', headers, body: liveQuery() });
    if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  }
  // Waits for the end of the last second of traffic, so that its writes are counted too. Sampled queries are stored
  // without delay.
  await sleep(Math.max(0, startedAt + seconds * 1000 - performance.now()));
}

async function used(client: Client, { pid }: Daemon): Promise<Used> {
  // Each PostgreSQL session updates the statistics at most once a second.
  await sleep(2000);
  const { rows } = await client.query<{ rows: string; bytes: string }>(
    `select sum(n_tup_ins) as rows, sum(pg_total_relation_size(relid)) as bytes from pg_stat_user_tables`,
  );
  const family = processes();
  const children = descendants(pid, family);
  return {
    daemon: own(pid, family),
    postgres: children.reduce((sum, child) => sum + own(child, family) + (family.get(child)?.ofEnded ?? 0), 0),
    rows: Number(rows[0]?.rows),
    bytes: Number(rows[0]?.bytes),
    asked,
  };
}

interface Process {
  readonly parent: number;
  /** CPU time of this process, in seconds. */
  readonly own: number;
  /** CPU time of this process's terminated children, in seconds. */
  readonly ofEnded: number;
}

function processes(): Map<number, Process> {
  const found = new Map<number, Process>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = text
        .slice(text.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number);
      const [, parent = 0] = fields;
      const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
      found.set(Number(name), { parent, own: (user + system) / TICKS, ofEnded: (endedUser + endedSystem) / TICKS });
    } catch {
      // The process has ended in the meantime.
    }
  }
  return found;
}

function own(pid: number, family: ReadonlyMap<number, Process>): number {
  return family.get(pid)?.own ?? 0;
}

function descendants(pid: number, family: ReadonlyMap<number, Process>): number[] {
  const children = [...family].filter(([, { parent }]) => parent === pid).map(([child]) => child);
  return children.flatMap((child) => [child, ...descendants(child, family)]);
}
