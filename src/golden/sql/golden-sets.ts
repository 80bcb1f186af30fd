/**
 * Golden sets by name and version, and the texts of their judged documents. A stored version changes only if queries
 * are erased.
 */

import type { Pool, PoolClient } from 'pg';
import type { Scope } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import type { GoldenQuery, Judgment } from '../../core/model.ts';
import type { ErasureSubject } from '../../live/sql/erase-live.ts';
import { type Act, recordActs } from '../../platform/access/audit-log.ts';
import { insertRows, queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';
import {
  ERASED_TEXT,
  type GoldenSetVersion,
  type NewGoldenSet,
  originMismatch,
  type QueryOrigin,
  type QuerySelection,
} from '../rules/golden-set.ts';
import { insertVersion, judgmentsOf, tagsToJson } from './golden-set-rows.ts';

type StoredQuery = Required<Omit<GoldenQuery, 'judgments'>>;
type StoredJudgment = Judgment & { readonly queryId: string };

const selectVersions = `
  select name, version, content_hash as "contentHash", format, imported_at as "importedAt", queries, judgments, origin, note
    from golden_sets`;

export type GoldenSets = ReturnType<typeof createGoldenSets>;

/** @param by the person who adds versions, for the audit log; null for versions that recalld adds */
export function createGoldenSets(pool: Pool, by: string | null = null, scope: Scope = null) {
  const hides = (name: string): boolean => scope !== null && !scope.goldenSets.includes(name);
  return {
    /**
     * Adds a version in one transaction, unless the latest version has the same content hash. Concurrent imports of the
     * same set are serialized. Excludes the queries in `origins` that come from an erased live query, or from a user
     * whose data was erased after the query was asked. Nothing is stored if the signal aborts before the commit.
     *
     * @throws RecalldError golden_origin_differs if the import would mix human and generated queries; key_limited if a
     * pipeline outside the scope of the API key uses the set
     */
    add(
      set: NewGoldenSet,
      now: Date,
      signal?: AbortSignal,
    ): Promise<{ readonly set: GoldenSetVersion; readonly created: boolean }> {
      if (scope !== null && !scope.ownGoldenSets.includes(set.name)) throw limitedSet(set.name);
      return inTransaction(pool, async (client) => {
        // Takes the locks in the same order as an erasure, to avoid a deadlock.
        const allowed = await withoutErased(client, set);
        await lockInTransaction(client, 'golden set', set.name);
        const latest = await readLatest(client, set.name);
        if (latest !== null && latest.origin !== (set.origin ?? 'human')) throw originMismatch(set.name, latest.origin);
        if (latest !== null && latest.contentHash === set.contentHash) return { set: latest, created: false };
        const version = (latest?.version ?? 0) + 1;
        await insertVersion(client, allowed, version, now, signal);
        await storeOrigins(client, allowed, now);
        signal?.throwIfAborted();
        const created = await readLatest(client, set.name);
        if (created === null) throw new Error(`golden set ${set.name} was stored but could not be read back`);
        await recordActs(client, by === null ? [] : [versionAct(set, latest, created, by, now)]);
        return { set: created, created: true };
      });
    },

    async latest(name: string): Promise<GoldenSetVersion | null> {
      return hides(name) ? null : readLatest(pool, name);
    },

    /** Returns every version of every set, sorted by name; the newest version of each set comes first. */
    async list(): Promise<readonly GoldenSetVersion[]> {
      return queryRows<GoldenSetVersion>(
        pool,
        `${selectVersions} where $1::text[] is null or name = any($1::text[]) order by name, version desc`,
        [scope?.goldenSets ?? null],
      );
    },

    /**
     * Returns, in import order, the same queries with other texts than in an earlier version: their judgments are the
     * same, or their texts are only the beginnings of the earlier texts (`isCutOff`).
     */
    async editedTexts(name: string, earlier: number, version: number) {
      return queryRows<{ readonly id: string; readonly isCutOff: boolean }>(
        pool,
        `select query_id as id, starts_with(before.text, now.text) as is_cut_off
           from golden_queries now join golden_queries before using (golden_set, query_id)
          where golden_set = $1::text and before.version = $2::integer and now.version = $3::integer
            and now.text <> before.text and before.text <> $4::text
            and (starts_with(before.text, now.text) or ${judgmentsOf('before')} = ${judgmentsOf('now')})
          order by now.position`,
        [name, earlier, version, ERASED_TEXT],
      );
    },

    /** Returns the origins of the queries of all versions, sorted by query id. */
    async origins(name: string): Promise<readonly QueryOrigin[]> {
      return queryRows(
        pool,
        `select query_id, kind, pipeline, live_query_hash, user_hash, asked_at, details
           from golden_query_origins where golden_set = $1::text order by query_id`,
        [name],
      );
    },

    /**
     * Returns the queries of a version with their judgments, in import order; unknown ids are ignored. An erased query
     * has the text ERASED_TEXT and no tags; the latest version contains no erased queries.
     *
     * @param selection null for every query
     */
    async queries(
      name: string,
      version: number,
      selection: QuerySelection | null = null,
    ): Promise<readonly GoldenQuery[]> {
      const ids = selection !== null && 'ids' in selection ? selection.ids : null;
      // `position` starts at 1, but `from` and `to` start at 0.
      const range = selection !== null && 'from' in selection ? selection : null;
      const queries = await queryRows<StoredQuery>(
        pool,
        `select query_id as id, text, tags, steps, forbidden, no_answer from golden_queries
          where golden_set = $1::text and version = $2::integer
            and ($3::text[] is null or query_id = any ($3::text[]))
            and ($4::integer is null or (position > $4::integer and position <= $5::integer))
          order by position`,
        [name, version, ids, range?.from ?? null, range?.to ?? null],
      );
      const judgments = await queryRows<StoredJudgment>(
        pool,
        `select query_id, document_id, grade from golden_judgments
          where golden_set = $1::text and version = $2::integer and ($3::text[] is null or query_id = any ($3::text[]))
          order by query_id, document_id`,
        [name, version, selection === null ? null : queries.map(({ id }) => id)],
      );
      return withJudgments(queries, judgments);
    },

    /**
     * Returns the number of requests that a run of the version sends: one for each query without steps, and one for
     * each step of the other queries.
     *
     * @param ids ids of the queries of the run; null for all queries
     */
    async requests(name: string, version: number, ids: readonly string[] | null): Promise<number> {
      const { rows } = await pool.query<{ requests: number }>(
        `select coalesce(sum(${requestsOfQuery('q')}), 0)::integer as requests from golden_queries q
          where golden_set = $1::text and version = $2::integer and ($3::text[] is null or query_id = any ($3::text[]))`,
        [name, version, ids],
      );
      return rows[0]?.requests ?? 0;
    },

    /** Returns the ids of the queries with forbidden documents, in import order. */
    async withForbidden(name: string, version: number): Promise<readonly string[]> {
      const { rows } = await pool.query<{ id: string }>(
        `select query_id as id from golden_queries
          where golden_set = $1::text and version = $2::integer and forbidden <> '{}' order by position`,
        [name, version],
      );
      return rows.map(({ id }) => id);
    },

    /** True if any version of the given sets contains a query that has all of the given tags, with the given values. */
    async hasTags(names: readonly string[], tags: GoldenQuery['tags']): Promise<boolean> {
      const { rows } = await pool.query<{ found: boolean }>(
        `select exists (select from golden_queries
                         where golden_set = any ($1::text[]) and tags @> $2::text::jsonb) as found`,
        [names, tagsToJson(tags)],
      );
      return rows[0]?.found === true;
    },
  };
}

export function requestsOfQuery(query: string): string {
  return `greatest(1, cardinality(${query}.steps))`;
}

function limitedSet(name: string): RecalldError {
  return new RecalldError(
    'key_limited',
    `The API key is limited to some pipelines. It may change a golden set only if at least one of these pipelines lists the set under \`golden\` and no other pipeline does; this is not the case for "${name}". Use a key that covers all pipelines, or a separate golden set.`,
  );
}

const sizeOf = ({ version, queries, judgments, origin }: GoldenSetVersion) => ({ version, queries, judgments, origin });

function versionAct(
  { act = 'import_golden_set' }: NewGoldenSet,
  before: GoldenSetVersion | null,
  after: GoldenSetVersion,
  by: string,
  at: Date,
): Act {
  return {
    at,
    by,
    act,
    pipeline: null,
    subject: after.name,
    before: before === null ? null : sizeOf(before),
    after: sizeOf(after),
  };
}

async function readLatest(db: Pool | PoolClient, name: string): Promise<GoldenSetVersion | null> {
  return queryRow<GoldenSetVersion>(db, `${selectVersions} where name = $1::text order by version desc limit 1`, [
    name,
  ]);
}

/**
 * Joins queries and judgments in memory, because PostgreSQL has no statistics on the tables right after a large import,
 * and a join in SQL would then take minutes.
 */
function withJudgments(queries: readonly StoredQuery[], judgments: readonly StoredJudgment[]): GoldenQuery[] {
  const judged = new Map<string, Judgment[]>(queries.map(({ id }) => [id, []]));
  for (const { queryId, documentId, grade } of judgments) judged.get(queryId)?.push({ documentId, grade });
  return queries.map(({ steps, forbidden, noAnswer, ...query }) => ({
    ...query,
    ...(steps.length === 0 ? {} : { steps }),
    judgments: judged.get(query.id) ?? [],
    ...(forbidden.length === 0 ? {} : { forbidden }),
    ...(noAnswer ? { noAnswer } : {}),
  }));
}

/**
 * Removes queries that come from an erased live query, or from a user whose data was erased after the query was asked.
 * Takes a lock, so that later erasures wait until the transaction has ended.
 */
async function withoutErased(client: PoolClient, set: NewGoldenSet): Promise<NewGoldenSet> {
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

/** Stores the origins of queries. A query keeps its first origin. */
async function storeOrigins(client: PoolClient, { name, origins = [] }: NewGoldenSet, now: Date): Promise<void> {
  const columns = {
    goldenSet: 'text',
    queryId: 'text',
    kind: 'text',
    pipeline: 'text',
    liveQueryHash: 'text',
    userHash: 'text',
    askedAt: 'timestamptz',
    details: 'jsonb',
    recordedAt: 'timestamptz',
  } as const;
  const rows = origins.map((origin) => ({ ...origin, goldenSet: name, recordedAt: now }));
  await insertRows(client, 'golden_query_origins', columns, rows, 'on conflict (golden_set, query_id) do nothing');
}

/**
 * Erases the subject's golden queries from every set. If the latest version of a set contains such queries, the set
 * gets a new version without them. In old versions, the texts, steps and tags of these queries are overwritten; the ids
 * and judgments remain, so that old runs can be read. Error messages of such queries are removed from the results of
 * runs.
 *
 * @returns the number of erased golden queries
 */
export async function eraseGoldenQueries(client: PoolClient, subject: ErasureSubject, now: Date): Promise<number> {
  await lockInTransaction(client, 'golden origins');
  const [column, hash] =
    subject.kind === 'user' ? ['user_hash', subject.userHash] : ['live_query_hash', subject.idHash];
  const { rows } = await client.query<{ golden_set: string; ids: string[] }>(
    `with erased as (delete from golden_query_origins where ${column} = $1::text returning golden_set, query_id)
     select golden_set, array_agg(query_id) as ids from erased group by golden_set order by golden_set`,
    [hash],
  );
  for (const { golden_set: set, ids } of rows) {
    await lockInTransaction(client, 'golden set', set);
    await writeVersionWithout(client, set, ids, now);
    await client.query(
      `update golden_queries set text = $3::text, tags = '{}', steps = '{}'
        where golden_set = $1::text and query_id = any($2::text[])`,
      [set, ids, ERASED_TEXT],
    );
    // A retriever may quote the query in its error message.
    await client.query(
      `update golden_run_answers a set error_message = null from golden_runs r
        where a.run_id = r.id and r.golden_set = $1::text and a.query_id = any($2::text[]) and a.error_message is not null`,
      [set, ids],
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
    ['golden_queries', 'query_id, position, text, tags, steps, forbidden, no_answer'],
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

export type GoldenDocuments = ReturnType<typeof createGoldenDocuments>;

export function createGoldenDocuments(pool: Pool) {
  return {
    /**
     * Stores texts of judged documents, keyed by document id. A new text replaces the current one, which is kept as the
     * earlier text.
     */
    async record(pipeline: string, texts: ReadonlyMap<string, string>, now: Date): Promise<void> {
      await pool.query(
        `insert into golden_documents as known (pipeline, document_id, content, seen_at)
         select $1::text, d.id, d.content, $4::timestamptz from unnest($2::text[], $3::text[]) as d (id, content)
         on conflict (pipeline, document_id) do update
            set content = excluded.content, seen_at = excluded.seen_at,
                earlier_content = case when known.content = excluded.content then known.earlier_content else known.content end,
                changed_at = case when known.content = excluded.content then known.changed_at else excluded.seen_at end`,
        [pipeline, [...texts.keys()], [...texts.values()], now],
      );
    },

    /** Returns the texts that documents had at the time `at`, keyed by document id. */
    async textsAt(pipeline: string, ids: readonly string[], at: Date): Promise<ReadonlyMap<string, string>> {
      const rows = await queryRows<{ id: string; text: string }>(
        pool,
        `select document_id as id, case when changed_at > $3::timestamptz then earlier_content else content end as text
           from golden_documents where pipeline = $1::text and document_id = any($2::text[])`,
        [pipeline, ids, at],
      );
      return new Map(rows.map(({ id, text }) => [id, text]));
    },

    /** Returns the documents among `ids` that the pipeline's manifest marks as deleted or no longer lists. */
    async withdrawn(pipeline: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
      const { rows } = await pool.query<{ id: string }>(
        `select id from index_documents where pipeline = $1::text and id = any ($2::text[]) and deleted`,
        [pipeline, ids],
      );
      return new Set(rows.map(({ id }) => id));
    },

    /** Returns, keyed by document id, the stored text and the time when the document was last seen in the store. */
    async seen(
      pipeline: string,
      ids: readonly string[],
    ): Promise<ReadonlyMap<string, { readonly content: string; readonly seenAt: Date }>> {
      const rows = await queryRows<{ id: string; content: string; seenAt: Date }>(
        pool,
        `select document_id as id, content, seen_at from golden_documents
          where pipeline = $1::text and document_id = any($2::text[])`,
        [pipeline, ids],
      );
      return new Map(rows.map(({ id, ...one }) => [id, one]));
    },
  };
}
