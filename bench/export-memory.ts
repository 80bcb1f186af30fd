/**
 * Measures the peak resident set size of `recalld export` for many live queries from one day, with ten results each.
 *
 *     npx tsx bench/export-memory.ts [--rows 5000000] [--format parquet|csv|jsonl]
 *
 * Needs the build in dist/. PostgreSQL is a separate process, so its memory is not counted. Exits with 1 if the peak
 * exceeds the documented limit.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { databaseOf, program, withDaemon } from './speed/child.ts';

/** Documented in docs/how-to/export.md. */
const PROMISED_MB = 250;
const BATCH = 50_000;

const args = process.argv.slice(2);
const valueOf = (flag: string): string | undefined => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
const rows = Number(valueOf('--rows') ?? 5_000_000);
const format = valueOf('--format') ?? 'parquet';

await withDaemon('server: {port: 0}\n', async (daemon) => {
  const database = new Client(databaseOf(daemon));
  await database.connect();
  for (let at = 0; at < rows; at += BATCH)
    await database.query(
      `insert into live_queries (received_on, pipeline, id, received_at, occurred_at, session_hash, text, outcome, results,
         latency_ms, segments, user_hash, probability, keep_reason, unit_hash, rate_probability, level)
       select (now() at time zone 'utc')::date, 'docs', 'query-' || n, now(), now(), md5(n::text), 'how do I ' || repeat(md5(n::text), 2), 'ok',
              (select jsonb_agg(jsonb_build_array('document-' || (n * 7 + d) % 100000, 1.0 / (d + n % 10))) from generate_series(1, 10) d),
              random() * 100, '{"tenant": "acme", "language": "en"}', md5((n / 10)::text), 0.1, 'draw', random(), 0.1, 0
         from generate_series($1::integer, $2::integer) n`,
      [at + 1, Math.min(rows, at + BATCH)],
    );
  await database.end();
  const startedAt = performance.now();
  const child = spawn(process.execPath, [program, 'export', '--to', 'export', '--format', format, '--json'], {
    cwd: daemon.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
  let peakMb = 0;
  const timer = setInterval(() => (peakMb = Math.max(peakMb, peakOf(child.pid ?? 0))), 100);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(timer);
  const seconds = (performance.now() - startedAt) / 1000;
  const { tables } = JSON.parse(output) as { tables: { rows: number }[] };
  const written = tables.reduce((sum, table) => sum + table.rows, 0);
  const isKept = code === 0 && peakMb <= PROMISED_MB && written === 11 * rows;
  process.stdout.write(
    `${isKept ? 'kept' : 'BROKEN'}: at most ${peakMb} MB of ${PROMISED_MB} MB, ${format}, ${rows} queries, ${written} rows in ${seconds.toFixed(0)} s, ${(written / seconds).toFixed(0)} rows/s\n`,
  );
  process.exitCode = isKept ? 0 : 1;
});

/** Returns the peak resident set size so far, in megabytes; 0 after the process has ended. */
function peakOf(pid: number): number {
  try {
    const [, kilobytes = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return 0;
  }
}
