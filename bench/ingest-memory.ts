/**
 * Measures the resident set of one process during an overload of live queries.
 *
 *     npx tsx bench/ingest-memory.ts [--seconds 300] [--out FILE]
 *
 * Needs the build in dist/. PostgreSQL is a separate process, so its memory is not counted. In the first half, the
 * benchmark sends single queries as fast as recalld responds. In the second half, it sends more concurrent batches than
 * the memory limit allows, and recalld refuses some. The database must contain everything that was accepted with 202.
 * Exits with 1 if a limit is exceeded or a query is lost.
 */
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { provenance, writeResult } from './result-file.ts';
import { type Daemon, databaseOf, withDaemon } from './speed/child.ts';
import { type LoadResult, sendLoad } from './speed/http-load.ts';
import { liveBatch, liveConfig, liveQuery } from './speed/live-config.ts';
import { type IngestMemoryResult, memoryFile, type Phase } from './speed/memory-result.ts';

/** Documented in docs/how-to/scaling.md. */
const PROMISED_MB = 300;
const BATCH = 1000;
const LOOK_MS = 100;

const args = process.argv.slice(2);
const valueOf = (flag: string): string | undefined => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
const seconds = Number(valueOf('--seconds') ?? 300);

const result = await withDaemon(liveConfig(0.1), measure);
writeResult(valueOf('--out') ?? memoryFile, result);
for (const { what, queriesPerSecond, shed, residentMb, peakMb } of result.phases)
  process.stdout.write(
    `${what}: ${queriesPerSecond} queries/s, ${shed} requests sent away, RSS by tenths ${residentMb.join(' ')} MB, at most ${peakMb} MB\n`,
  );
const isKept = result.phases.every(({ peakMb }) => peakMb <= PROMISED_MB) && result.accepted === result.counted;
process.stdout.write(
  `${isKept ? 'kept' : 'BROKEN'}: ${PROMISED_MB} MB; ${result.accepted} queries answered 202, ${result.counted} counted\n`,
);
process.exitCode = isKept ? 0 : 1;

async function measure(daemon: Daemon): Promise<IngestMemoryResult> {
  const startedAt = performance.now();
  const [load = 0] = os.loadavg();
  const idleMb = residentMb(daemon.pid);
  const half = seconds / 2;
  const flood = { url: daemon.url, path: '/v1/queries', seconds: half, mayShed: true };
  const phases = [
    { what: 'single queries, 256 connections', size: 1, connections: 256, body: () => liveQuery() },
    {
      what: `batches of ${BATCH}, 128 connections`,
      size: BATCH,
      connections: 128,
      body: () => liveBatch(BATCH),
    },
  ];
  const measured: Phase[] = [];
  let accepted = 0;
  for (const { what, size, ...sent } of phases) {
    const { sample, outcome } = await watched(daemon, () => sendLoad({ ...flood, ...sent }));
    accepted += size * outcome.accepted;
    measured.push({
      what,
      queriesPerSecond: Math.round((size * outcome.accepted) / half),
      shed: outcome.shed,
      residentMb: tenths(sample),
      peakMb: Math.max(...sample),
    });
  }
  return {
    provenance: provenance(`npx tsx bench/ingest-memory.ts --seconds ${seconds}`, 0, startedAt),
    load,
    promisedMb: PROMISED_MB,
    idleMb,
    phases: measured,
    accepted,
    counted: await countedBy(daemon),
  };
}

async function watched(
  { pid }: Daemon,
  work: () => Promise<LoadResult>,
): Promise<{ sample: number[]; outcome: LoadResult }> {
  const end = new AbortController();
  const sample: number[] = [];
  const watch = async (): Promise<void> => {
    while (!end.signal.aborted) {
      sample.push(residentMb(pid));
      await sleep(LOOK_MS);
    }
  };
  const watching = watch();
  const outcome = await work();
  end.abort();
  await watching;
  return { sample, outcome };
}

async function countedBy(daemon: Daemon): Promise<number> {
  const client = new Client(databaseOf(daemon));
  await client.connect();
  try {
    const { rows } = await client.query<{ counted: string }>('select sum(queries) as counted from live_query_counts');
    return Number(rows[0]?.counted);
  } finally {
    await client.end();
  }
}

function tenths(sample: readonly number[]): number[] {
  return Array.from({ length: 10 }, (_, i) => sample[Math.ceil(((i + 1) * sample.length) / 10) - 1] ?? 0);
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
}
