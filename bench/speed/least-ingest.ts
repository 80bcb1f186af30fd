/**
 * Minimal server for requests with one live query each. The server parses the body, hashes the session, stores a tenth
 * of the queries and one count per minute, and responds after the commit, which concurrent requests share. The server
 * does not validate or redact queries, check keys or detect duplicates.
 */
import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import { Pool, type PoolConfig } from 'pg';

interface Query {
  readonly id: string;
  readonly pipeline: string;
  readonly session_id: string;
}

interface Waiting {
  readonly row: readonly [id: string, pipeline: string, session: string, query: string] | null;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const COMMITS_UNDER_WAY = 3;
const MAX_OF_COMMIT = 250;

const pool = new Pool({ ...(JSON.parse(process.argv[2] ?? '{}') as PoolConfig), max: COMMITS_UNDER_WAY });
await pool.query(`
  create table if not exists least_rows (id text, pipeline text, session text, query text);
  create table if not exists least_counts (minute bigint primary key, queries bigint)`);

let waiting: Waiting[] = [];
let underWay = 0;

function commit(): void {
  if (underWay >= COMMITS_UNDER_WAY || waiting.length === 0) return;
  const taken = waiting.slice(0, MAX_OF_COMMIT);
  waiting = waiting.slice(MAX_OF_COMMIT);
  underWay += 1;
  const rows = taken.flatMap(({ row }) => (row === null ? [] : [row]));
  pool
    .query({
      name: 'least',
      text: `with kept as (
               insert into least_rows select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]))
             insert into least_counts values ($5, $6)
             on conflict (minute) do update set queries = least_counts.queries + excluded.queries`,
      values: [
        rows.map(([id]) => id),
        rows.map(([, pipeline]) => pipeline),
        rows.map(([, , session]) => session),
        rows.map(([, , , query]) => query),
        Math.floor(Date.now() / 60_000),
        taken.length,
      ],
    })
    .then(
      () => taken.forEach(({ resolve }) => resolve()),
      (error: Error) => taken.forEach(({ reject }) => reject(error)),
    )
    .finally(() => {
      underWay -= 1;
      commit();
    });
  commit();
}

const server = Fastify();
server.post('/v1/queries', async ({ body }, reply) => {
  const query = body as Query;
  const hash = createHash('sha256').update(query.session_id).digest();
  const isKept = hash.readUInt32BE(0) < 0.1 * 2 ** 32;
  const row = isKept ? ([query.id, query.pipeline, hash.toString('hex'), JSON.stringify(query)] as const) : null;
  await new Promise<void>((resolve, reject) => {
    waiting.push({ row, resolve, reject });
    // Requests in the same iteration of the event loop share a commit.
    if (waiting.length === 1) setImmediate(commit);
  });
  return reply.code(202).send({ accepted: 1, sampled: isKept ? 1 : 0, duplicates: 0, rejected: [] });
});
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
process.once('SIGTERM', () => process.exit(0));
