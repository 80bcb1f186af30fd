/**
 * Runs a round of index checks on one million documents in pgvector, measures the process memory, and checks that a
 * killed round can be continued.
 *
 *     npm run build && npx tsx bench/index-million.ts [--documents N]
 *
 * The store and the database run in separate processes. The round is killed with SIGKILL while it looks up documents,
 * and then continued. Every document must have been looked up exactly once.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { startPglite } from '../src/demo/rag/store.ts';
import { startOwnPostgres } from '../test/support/own-postgres.ts';

const { values } = parseArgs({ options: { documents: { type: 'string', default: '1000000' } } });
const documents = Number(values.documents);
const missing = documents / 50;
const program = path.resolve(import.meta.dirname, '../dist/cli/main.js');

/** Returns the peak size of the resident set in MB. */
async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

const folder = await mkdtemp(path.join(tmpdir(), 'recalld-index-million-'));
const store = await startPglite();
const postgres = await startOwnPostgres();
try {
  const { host, port, user, password, database } = postgres.connection;
  const url = `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${database}`;
  const filler = new Client({ connectionString: store.url });
  await filler.connect();
  await filler.query('create extension vector');
  await filler.query('create table chunks (id text primary key, version text, embedding vector(2))');
  for (let from = 0; from < documents; from += 50_000) {
    await filler.query(
      `insert into chunks select 'document-' || i, 'v1', '[1,2]' from generate_series($1::integer, $2::integer) i where i % 50 <> 0`,
      [from, from + 49_999],
    );
  }
  await filler.query('analyze chunks');
  await filler.end();

  const file = path.join(folder, 'manifest.jsonl');
  const out = createWriteStream(file);
  for (let i = 0; i < documents; i += 1) {
    const line = `{"id": "document-${i}", "hash": "v1", "updated_at": "2025-01-01T00:00:00Z", "segment": "tenant=${i % 20}"}\n`;
    if (!out.write(line)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
  await writeFile(
    path.join(folder, 'recalld.yaml'),
    `storage: {url: "${url}"}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/", results: {list: results, id: id}}
    vector_store: {kind: pgvector, url: "${store.url}", table: chunks, id: id, version: version, timeout_ms: 20000}
    index: {manifest: {kind: file, path: manifest.jsonl}, retrieve: 0, embed: 0, calls_per_second: 1000}
`,
  );
  const run = (...words: string[]): ChildProcess =>
    spawn(process.execPath, [program, ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(run('migrate', '--config', 'recalld.yaml'), 'exit');
  const watcher = new Client({ connectionString: url });
  await watcher.connect();
  const probeDocuments = async (): Promise<number> => {
    const { rows } = await watcher.query<{ n: string }>(
      `select coalesce(sum(n), 0) as n from index_tallies where measure = 'missing'`,
    );
    return Number(rows[0]?.n);
  };

  let peak = 0;
  /** Runs a round, and kills it once `until` returns true. Returns the exit code; null if the process was killed. */
  const round = async (until: () => Promise<boolean>): Promise<number | null> => {
    const child = run('index', 'check', '--pipeline', 'docs', '--config', 'recalld.yaml');
    child.stdout?.resume();
    const ended: (number | null)[] = [];
    child.once('exit', (code) => ended.push(code));
    while (ended.length === 0) {
      if (child.pid !== undefined) peak = Math.max(peak, await peakOf(child.pid).catch(() => 0));
      if (await until()) child.kill('SIGKILL');
      await delay(100);
    }
    return ended[0] ?? null;
  };
  const started = performance.now();
  // Continues a round that was deferred because the store was slow.
  while ((await round(async () => (await probeDocuments()) > documents / 3)) !== null);
  const before = await probeDocuments();
  // Simulates the five minutes after which recalld gives up on an unresponsive worker.
  await watcher.query(`update index_rounds set leased_until = '-infinity'`);
  // If the store slows down, recalld defers the round; the next call continues it.
  let calls = 1;
  while ((await round(async () => false)) !== 0 && calls < 50) calls += 1;
  const { rows } = await watcher.query<{ measure: string; value: number; n: number }>(
    `select measure, value, n from latest_measurements where segment = 'all' and measure in ('index_missing_ratio', 'index_orphaned_ratio')`,
  );
  const seconds = Math.round((performance.now() - started) / 1000);
  const expected = { missing: missing / documents, n: documents };
  process.stdout.write(
    `${JSON.stringify({ documents, killed_after: before, looked_up: await probeDocuments(), expected, rows, calls, peak_rss_mb: Math.round(peak), seconds }, null, 2)}\n`,
  );
  await watcher.end();
} finally {
  await postgres.close();
  await store.stop();
  await rm(folder, { recursive: true });
}
