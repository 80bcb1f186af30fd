/** Where golden queries come from, and their way out of golden sets when people or live queries are erased. */
import type { Pool, PoolClient } from 'pg';
import type { ErasureSubject } from '../../live/sql/erase-live.ts';
import { lockInTransaction } from '../../postgres/transaction.ts';
import { ERASED_TEXT, type NewGoldenSet, type QueryOrigin } from '../rules/golden-set.ts';

/**
 * The set without queries whose live query, or whose user after asking, was erased. Nothing that is erased from now on
 * comes in behind the erasure: it waits until the transaction is over.
 */
export async function withoutErased(client: PoolClient, set: NewGoldenSet): Promise<NewGoldenSet> {
  const { origins = [] } = set;
  if (origins.length === 0) return set;
  await lockInTransaction(client, 'golden origins');
  const { rows } = await client.query<{ query_id: string }>(
    `select distinct o.query_id
       from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) as o (query_id, live_query_hash, user_hash, asked_at)
       join erased_subjects e on e.subject_hash = o.live_query_hash
                              or (e.kind = 'user' and e.subject = o.user_hash and e.erased_at >= o.asked_at)`,
    [
      origins.map((origin) => origin.queryId),
      origins.map((origin) => origin.liveQueryHash),
      origins.map((origin) => origin.userHash),
      origins.map((origin) => origin.askedAt),
    ],
  );
  const erased = new Set(rows.map((row) => row.query_id));
  return {
    ...set,
    queries: set.queries.filter(({ id }) => !erased.has(id)),
    origins: origins.filter(({ queryId }) => !erased.has(queryId)),
  };
}

/** A query keeps the origin that it had first. */
export async function storeOrigins(client: PoolClient, { name, origins = [] }: NewGoldenSet, now: Date): Promise<void> {
  if (origins.length === 0) return;
  await client.query(
    `insert into golden_query_origins
       (golden_set, query_id, kind, pipeline, live_query_hash, user_hash, asked_at, details, recorded_at)
     select $1::text, o.query_id, o.kind, o.pipeline, o.live_query_hash, o.user_hash, o.asked_at, o.details::jsonb, $2::timestamptz
       from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[])
         as o (query_id, kind, pipeline, live_query_hash, user_hash, asked_at, details)
     on conflict (golden_set, query_id) do nothing`,
    [
      name,
      now,
      origins.map((origin) => origin.queryId),
      origins.map((origin) => origin.kind),
      origins.map((origin) => origin.pipeline),
      origins.map((origin) => origin.liveQueryHash),
      origins.map((origin) => origin.userHash),
      origins.map((origin) => origin.askedAt),
      origins.map((origin) => JSON.stringify(origin.details)),
    ],
  );
}

export async function readOrigins(pool: Pool, name: string): Promise<QueryOrigin[]> {
  const { rows } = await pool.query<QueryOrigin>(
    `select query_id as "queryId", kind, pipeline, live_query_hash as "liveQueryHash", user_hash as "userHash",
            asked_at as "askedAt", details
       from golden_query_origins where golden_set = $1::text order by query_id`,
    [name],
  );
  return rows;
}

/**
 * Takes the golden queries of the subject out of every set: a set that has one gets a new version without it, and in
 * the old versions its text and tags are overwritten; its id and judgments stay, so that old runs can be read.
 *
 * @returns how many golden queries that were
 */
export async function eraseGoldenQueries(client: PoolClient, subject: ErasureSubject, now: Date): Promise<number> {
  await lockInTransaction(client, 'golden origins');
  const [column, hash] =
    subject.kind === 'user' ? ['user_hash', subject.userHash] : ['live_query_hash', subject.idHash];
  const { rows } = await client.query<{ golden_set: string; ids: string[] }>(
    `with gone as (delete from golden_query_origins where ${column} = $1::text returning golden_set, query_id)
     select golden_set, array_agg(query_id) as ids from gone group by golden_set order by golden_set`,
    [hash],
  );
  for (const { golden_set: set, ids } of rows) {
    await lockInTransaction(client, 'golden set', set);
    await writeVersionWithout(client, set, ids, now);
    await client.query(
      `update golden_queries set text = $3::text, tags = '{}'
        where golden_set = $1::text and query_id = any($2::text[])`,
      [set, ids, ERASED_TEXT],
    );
  }
  return rows.reduce((sum, { ids }) => sum + ids.length, 0);
}

async function writeVersionWithout(client: PoolClient, set: string, ids: readonly string[], now: Date): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    `insert into golden_sets (name, version, content_hash, format, imported_at, queries, judgments, origin, note)
     select s.name, s.version + 1, encode(sha256(convert_to('erased:' || s.content_hash, 'UTF8')), 'hex'), s.format, $3::timestamptz,
            (select count(*) from golden_queries q
              where q.golden_set = s.name and q.version = s.version and q.query_id <> all($2::text[])),
            (select count(*) from golden_judgments j
              where j.golden_set = s.name and j.version = s.version and j.query_id <> all($2::text[])),
            s.origin, 'Queries were erased on request.'
       from golden_sets s
      where s.name = $1::text and s.version = (select max(version) from golden_sets where name = $1::text)
        and exists (select from golden_queries q
                     where q.golden_set = s.name and q.version = s.version and q.query_id = any($2::text[]))
     returning version`,
    [set, ids, now],
  );
  const version = rows[0]?.version;
  if (version === undefined) return;
  for (const [table, columns] of [
    ['golden_queries', 'query_id, position, text, tags, forbidden, no_answer'],
    ['golden_judgments', 'query_id, document_id, grade'],
  ]) {
    await client.query(
      `insert into ${table} (golden_set, version, ${columns})
       select golden_set, $2::integer, ${columns} from ${table}
        where golden_set = $1::text and version = $2::integer - 1 and query_id <> all($3::text[])`,
      [set, version, ids],
    );
  }
}
