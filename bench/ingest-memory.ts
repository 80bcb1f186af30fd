/**
 * Memory of one process that takes live queries in: does it grow with what has passed through it?
 *
 *     npx tsx bench/ingest-memory.ts [--queries 1000000] [--out FILE]
 *
 * Needs the build in dist/. PostgreSQL is a process of its own and does not count. A tenth of the queries is sampled, as by
 * default, and each batch has 100. Exits with 1 when the resident set is not flat.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { startFleet } from '../test/support/fleet.ts';
import { startOwnPostgres } from '../test/support/own-postgres.ts';
import { aFolder } from '../test/support/recalld.ts';
import { type Provenance, provenance, writeResult } from './result-file.ts';

export interface MemoryResult {
  readonly provenance: Provenance;
  readonly queries: number;
  readonly queriesPerSecond: number;
  /** Resident set in MB after each twentieth of the queries. */
  readonly residentMb: readonly number[];
  /** Median of the first and of the last tenth behind the warm-up. */
  readonly firstMb: number;
  readonly lastMb: number;
  readonly isFlat: boolean;
}

const BATCH = 100;
const CLIENTS = 4;
const SAMPLES = 200;
/** Until then caches fill: unhappy users are waited for, code is compiled, the heap finds its size. */
const WARM_UP = 0.2;
/** What the heap may differ by from one collection to the next. */
const TOLERANCE = 0.15;

const args = process.argv.slice(2);
const valueOf = (flag: string): string | undefined => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
const queries = Number(valueOf('--queries') ?? 1_000_000);
const cleanups: (() => Promise<unknown>)[] = [];
try {
  const result = await measure(queries, (clean) => void cleanups.unshift(clean));
  writeResult(valueOf('--out') ?? path.join(import.meta.dirname, 'results/ingest-memory.json'), result);
  const { firstMb, lastMb, isFlat, queriesPerSecond } = result;
  process.stdout.write(`RSS by twentieths, MB: ${result.residentMb.join(' ')}\n`);
  process.stdout.write(
    `${isFlat ? 'flat' : 'NOT flat'}: ${firstMb} MB after the warm-up, ${lastMb} MB at the end of ${queries} queries (${queriesPerSecond}/s)\n`,
  );
  process.exitCode = isFlat ? 0 : 1;
} finally {
  for (const clean of cleanups) await clean();
}

async function measure(total: number, atEnd: (clean: () => Promise<void>) => void): Promise<MemoryResult> {
  const startedAt = performance.now();
  const postgres = await startOwnPostgres();
  atEnd(() => postgres.close());
  const fleet = await startFleet({
    folder: await aFolder({}, atEnd),
    postgres,
    redis: null,
    roles: ['api'],
    pipelines: 'pipelines: [{name: docs, retriever: {kind: http, url: "http://127.0.0.1:9"}}]',
    atEnd,
  });
  const [api] = fleet.members;
  if (api === undefined) throw new Error('the fleet has an API');
  const resident: number[] = [];
  let sent = 0;
  const loadedAt = performance.now();
  const client = async (): Promise<void> => {
    while (sent < total) {
      const from = sent;
      sent += BATCH;
      const response = await fetch(`${api.daemon.url}/v1/queries`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${fleet.key}` },
        body: JSON.stringify(Array.from({ length: BATCH }, (_, index) => aQuery(from + index))),
      });
      if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
      await response.arrayBuffer();
      if (sent * SAMPLES >= resident.length * total) resident.push(residentMb(api.daemon.pid));
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const seconds = (performance.now() - loadedAt) / 1000;
  const warm = resident.slice(Math.floor(WARM_UP * resident.length));
  const tenth = Math.max(1, Math.floor(warm.length / 10));
  const firstMb = median(warm.slice(0, tenth));
  const lastMb = median(warm.slice(-tenth));
  const command = `npx tsx bench/ingest-memory.ts --queries ${total}`;
  return {
    provenance: provenance(command, 0, startedAt),
    queries: total,
    queriesPerSecond: Math.round(total / seconds),
    residentMb: resident.filter((_, index) => index % (SAMPLES / 20) === 0),
    firstMb,
    lastMb,
    isFlat: lastMb <= firstMb * (1 + TOLERANCE),
  };
}

function aQuery(number: number): object {
  return {
    id: `q-${number}`,
    pipeline: 'docs',
    session_id: `s-${Math.floor(number / 3)}`,
    text: `how do I change setting ${number} of my account`,
    latency_ms: 20,
    results: Array.from({ length: 10 }, (_, rank) => ({
      id: `doc-${number % 997}-${rank}`,
      score: 1 - rank / 10,
    })),
  };
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
