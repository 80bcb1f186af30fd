/**
 * Runs a fleet under mixed load while its processes are killed at random. At the end, compares the accepted data with
 * the stored data.
 *
 *     npx tsx bench/soak.ts --queue postgres|redis [--minutes 3] [--seed 1] [--out FILE]
 *
 * Needs the build in dist/. Everything listens on the loopback interface. Exits with 1 if anything was lost, counted
 * twice or left unprocessed.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { documents, slow, startFaultServer } from '../test/support/fault-server.ts';
import { type Fleet, startFleet } from '../test/support/fleet.ts';
import { startLiveLoad } from '../test/support/live-load.ts';
import { startOwnPostgres } from '../test/support/own-postgres.ts';
import { aFolder, runRecalld } from '../test/support/recalld.ts';
import { readGoldenLedger, reconcileLoad } from '../test/support/reconcile.ts';
import { startRedis } from '../test/support/redis.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { randomNumbers } from './random-numbers.ts';
import { provenance, writeResult } from './result-file.ts';
import { startCallers } from './soak/callers.ts';
import { disturb } from './soak/disturb.ts';
import {
  holds,
  latencyRow,
  latencyRows,
  ledgerHead,
  ledgerRows,
  type MemoryRow,
  memoryRows,
  type SoakResult,
} from './soak/report.ts';

export interface SoakSettings {
  readonly queue: 'postgres' | 'redis';
  readonly minutes: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

const GOLDEN_QUERIES = 100;
/** After this time, leases, locks and waits of interrupted jobs have expired. */
const EXPIRY_MS = 180_000;

/** Runs the soak test to its end and releases all resources, even after an error. */
export async function soak(settings: SoakSettings): Promise<SoakResult> {
  const cleanups: (() => Promise<unknown>)[] = [];
  try {
    return await run(settings, (clean) => void cleanups.unshift(clean));
  } finally {
    for (const clean of cleanups) await clean();
  }
}

async function run(
  { queue, minutes, seed, say }: SoakSettings,
  atEnd: (clean: () => Promise<void>) => void,
): Promise<SoakResult> {
  const startedAt = performance.now();
  const postgres = await startOwnPostgres();
  atEnd(() => postgres.close());
  const redis = queue === 'redis' ? await startRedis() : null;
  atEnd(async () => redis?.close());
  const retriever = await startFaultServer(slow(5, documents([{ id: 'd1', score: 0.9 }])));
  atEnd(() => retriever.close());
  const rows = Array.from({ length: GOLDEN_QUERIES }, (_, i) => `question ${i},d1`);
  const folder = await aFolder({ 'faq.csv': ['question,document', ...rows].join('\n') }, atEnd);
  const fleet = await startFleet({
    folder,
    postgres,
    redis: redis?.url ?? null,
    roles: ['api', 'api', 'worker', 'worker', 'scheduler', 'scheduler'],
    pipelines: `pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever.url}/search", timeout_ms: 2000}
    sampling: {rate: 1, max_per_minute: 10000000}
    golden: [{set: faq, cron: "*/5 * * * * *", concurrency: 4, max_per_second: 100}]
`,
    atEnd,
  });
  const imported = ['golden', 'import', 'faq.csv', '--set', 'faq', '--config', 'member-0.yaml'];
  const { code, stderr } = await runRecalld(imported, folder, {}, atEnd);
  if (code !== 0) throw new Error(stderr);

  say(`the fleet is up; ${minutes} minutes of load begin`);
  const load = startLiveLoad({
    apis: fleet.apis,
    key: fleet.key,
    pipeline: 'docs',
    clients: 6,
    pauseMs: 25,
    patienceMs: 5000,
  });
  atEnd(() => load.abandon());
  const callers = startCallers(fleet);
  atEnd(() => callers.stop());
  const over = new AbortController();
  const numbers = randomNumbers(seed);
  const random = (): number => numbers.uniform();
  const disturbed = disturb({ fleet, postgres, redis, random, signal: over.signal });
  const ended = async (): Promise<void> => {
    over.abort();
    await disturbed;
  };
  atEnd(ended);
  const durationMs = minutes * 60_000;
  await Promise.race([pause(durationMs / 4), disturbed]);
  const memory = residentSets(fleet);
  await Promise.race([pause((durationMs * 3) / 4), disturbed]);
  const memoryAtEnd = residentSets(fleet);
  await ended();
  await load.stop();
  await callers.stop();
  say('the load has ended; what is under way comes to its end');
  const ask = await connected(postgres.connection, atEnd);
  // Scheduling continues, because a tick finds runs that no worker is processing.
  const loadEnded = new Date();
  await waitFor(async () => (await readGoldenLedger(ask, loadEnded)).running === 0, {
    timeoutMs: EXPIRY_MS,
  });

  const requested = [...callers.runs];
  const { rows: there } = await ask.query('select id from golden_runs where id = any($1::text[])', [requested]);
  const command = `npx tsx bench/soak.ts --queue ${queue} --minutes ${minutes}`;
  return {
    provenance: provenance(command, seed, startedAt),
    queue,
    minutes,
    kills: Object.fromEntries(await disturbed),
    ...(await reconcileLoad(ask, load)),
    golden: {
      ...(await readGoldenLedger(ask, loadEnded)),
      requested: requested.length,
      requestedLost: requested.length - there.length,
    },
    latency: [
      ...[...load.latenciesMs].map(([route, times]) => latencyRow(`POST ${route}`, times)),
      ...[...callers.latenciesMs].map(([what, times]) => latencyRow(what, times)),
    ],
    memory: memory.map((row, index) => ({ ...row, endMb: memoryAtEnd[index]?.endMb ?? Number.NaN })),
    refusals: summed(load.refusals, callers.failures),
  };
}

function summed(...counts: readonly ReadonlyMap<number, number>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const [status, count] of counts.flatMap((one) => [...one])) sum[status] = (sum[status] ?? 0) + count;
  return sum;
}

async function connected(
  connection: ConstructorParameters<typeof Client>[0],
  atEnd: (clean: () => Promise<void>) => void,
): Promise<Client> {
  const client = new Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  atEnd(() => client.end());
  return client;
}

/** Reads the resident set size of the second process in each role; this process is never killed. */
function residentSets(fleet: Fleet): MemoryRow[] {
  return (['api', 'worker', 'scheduler'] as const).map((role) => {
    const [, survivor] = fleet.of(role);
    const status = readFileSync(`/proc/${survivor?.daemon.pid ?? 0}/status`, 'utf8');
    const mb = Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
    return { role, startMb: mb, endMb: mb };
  });
}

function printTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const lines = all.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return `${lines.join('\n')}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const args = process.argv.slice(2);
  const valueOf = (flag: string): string | undefined =>
    args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined;
  const queue = valueOf('--queue') === 'redis' ? 'redis' : 'postgres';
  const result = await soak({
    queue,
    minutes: Number(valueOf('--minutes') ?? 3),
    seed: Number(valueOf('--seed') ?? 1),
    say: (line) => process.stderr.write(`${line}\n`),
  });
  writeResult(valueOf('--out') ?? path.join(import.meta.dirname, `results/soak-${queue}.json`), result);
  process.stdout.write(
    [
      printTable(ledgerHead, ledgerRows(result)),
      printTable(['', 'requests', 'p50 ms', 'p99 ms'], latencyRows(result)),
      printTable(['RSS', 'start MB', 'end MB'], memoryRows(result)),
      `kills: ${JSON.stringify(result.kills)}; not accepted at once: ${JSON.stringify(result.refusals)}\n`,
    ].join('\n'),
  );
  process.exitCode = holds(result) ? 0 : 1;
}
