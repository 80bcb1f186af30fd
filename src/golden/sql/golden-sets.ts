/** Golden sets by name and version. A version never changes once it is there. */
import type pg from 'pg';
import type { GoldenQuery, Judgment } from '../../model.ts';
import { inTransaction, lockInTransaction } from '../../postgres/transaction.ts';
import { wellFormed } from '../../postgres/values.ts';
import {
  type GoldenSetVersion,
  type NewGoldenSet,
  originMismatch,
  type QueryOrigin,
  type QuerySelection,
} from '../rules/golden-set.ts';
import { readOrigins, storeOrigins, withoutErased } from './golden-origins.ts';

interface QueryRow {
  query_id: string;
  text: string;
  tags: Record<string, string>;
  forbidden: readonly string[];
  no_answer: boolean;
}

interface JudgmentRow {
  query_id: string;
  document_id: string;
  grade: number;
}

const selectVersions = `
  select name, version, content_hash as "contentHash", format, imported_at as "importedAt", queries, judgments, origin, note
    from golden_sets`;

export type GoldenSets = ReturnType<typeof createGoldenSets>;

export function createGoldenSets(pool: pg.Pool) {
  return {
    /**
     * Makes a new version, unless the latest one has the same content hash; all or nothing. Two imports of one name
     * at the same time come one after the other. Queries of `origins` whose live query or user was erased since it was
     * asked are left out.
     *
     * @throws RecalldError golden_origin_differs when a set of people would get a version of a model, or the other way
     */
    add(set: NewGoldenSet, now: Date): Promise<{ readonly set: GoldenSetVersion; readonly created: boolean }> {
      return inTransaction(pool, async (client) => {
        // Before the turn of the set, since an erasure takes both in this order and would be waited for in a ring.
        const allowed = await withoutErased(client, set);
        await lockInTransaction(client, 'golden set', set.name);
        const latest = await readLatest(client, set.name);
        if (latest !== null && latest.origin !== (set.origin ?? 'human')) throw originMismatch(set.name, latest.origin);
        if (latest !== null && latest.contentHash === set.contentHash) return { set: latest, created: false };
        const version = (latest?.version ?? 0) + 1;
        await insertVersion(client, allowed, version, now);
        await storeOrigins(client, allowed, now);
        const created = await readLatest(client, set.name);
        if (created === null) throw new Error(`golden set ${set.name} is gone within its own transaction`);
        return { set: created, created: true };
      });
    },

    /** Null when no set of that name exists. */
    latest(name: string): Promise<GoldenSetVersion | null> {
      return readLatest(pool, name);
    },

    /** Every version of every set, newest first within a name. */
    async list(): Promise<readonly GoldenSetVersion[]> {
      const { rows } = await pool.query<GoldenSetVersion>(`${selectVersions} order by name, version desc`);
      return rows;
    },

    /** Of the queries of a set, all versions together, in the order of their ids. */
    origins(name: string): Promise<readonly QueryOrigin[]> {
      return readOrigins(pool, name);
    },

    /**
     * The queries of a version with their judgments, in the order of the import. One that was erased has the text
     * ERASED_TEXT and no tags; the latest version has none such.
     */
    queries(name: string, version: number): Promise<readonly GoldenQuery[]> {
      return readQueries(pool, name, version, null);
    },

    /** Ids of the queries that have forbidden documents, in the order of the import. */
    async withForbidden(name: string, version: number): Promise<readonly string[]> {
      const { rows } = await pool.query<{ id: string }>(
        `select query_id as id from golden_queries
          where golden_set = $1::text and version = $2::integer and forbidden <> '{}' order by position`,
        [name, version],
      );
      return rows.map(({ id }) => id);
    },

    /** Some of them, in the same order; unknown ids are left out. */
    someQueries(name: string, version: number, selection: QuerySelection): Promise<readonly GoldenQuery[]> {
      return readQueries(pool, name, version, selection);
    },
  };
}

/** @param selection null for every query */
async function readQueries(
  pool: pg.Pool,
  name: string,
  version: number,
  selection: QuerySelection | null,
): Promise<GoldenQuery[]> {
  const ids = selection !== null && 'ids' in selection ? selection.ids : null;
  // Positions in the table start at 1.
  const range = selection !== null && 'from' in selection ? selection : null;
  const { rows } = await pool.query<QueryRow>(
    `select query_id, text, tags, forbidden, no_answer from golden_queries
      where golden_set = $1::text and version = $2::integer
        and ($3::text[] is null or query_id = any ($3::text[]))
        and ($4::integer is null or (position > $4::integer and position <= $5::integer))
      order by position`,
    [name, version, ids, range?.from ?? null, range?.to ?? null],
  );
  const judgments = await pool.query<JudgmentRow>(
    `select query_id, document_id, grade from golden_judgments
      where golden_set = $1::text and version = $2::integer and ($3::text[] is null or query_id = any ($3::text[]))
      order by query_id, document_id`,
    [name, version, selection === null ? null : rows.map((row) => row.query_id)],
  );
  return withJudgments(rows, judgments.rows);
}

async function readLatest(db: pg.Pool | pg.PoolClient, name: string): Promise<GoldenSetVersion | null> {
  const { rows } = await db.query<GoldenSetVersion>(
    `${selectVersions} where name = $1::text order by version desc limit 1`,
    [name],
  );
  return rows[0] ?? null;
}

async function insertVersion(client: pg.PoolClient, set: NewGoldenSet, version: number, now: Date): Promise<void> {
  const judgments = set.queries.flatMap((query) =>
    query.judgments.map((judgment) => ({ queryId: query.id, ...judgment })),
  );
  await client.query(
    `insert into golden_sets (name, version, content_hash, format, imported_at, queries, judgments, origin, note)
     values ($1::text, $2::integer, $3::text, $4::text, $5::timestamptz, $6::integer, $7::integer, $8::text, $9::text)`,
    [
      set.name,
      version,
      set.contentHash,
      set.format,
      now,
      set.queries.length,
      judgments.length,
      set.origin ?? 'human',
      set.note ?? null,
    ],
  );
  await client.query(
    `insert into golden_queries (golden_set, version, query_id, position, text, tags, forbidden, no_answer)
     select $1::text, $2::integer, q.query_id, q.position, q.text, q.tags::jsonb,
            array(select e.value from jsonb_array_elements_text(q.forbidden::jsonb) with ordinality as e order by e.ordinality),
            q.no_answer
       from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[])
            with ordinality as q (query_id, text, tags, forbidden, no_answer, position)`,
    [
      set.name,
      version,
      set.queries.map((q) => q.id),
      set.queries.map((q) => q.text),
      set.queries.map((q) => toJson(q.tags)),
      set.queries.map((q) => JSON.stringify((q.forbidden ?? []).map(wellFormed))),
      set.queries.map((q) => q.noAnswer ?? false),
    ],
  );
  await client.query(
    `insert into golden_judgments (golden_set, version, query_id, document_id, grade)
     select $1::text, $2::integer, j.query_id, j.document_id, j.grade
       from unnest($3::text[], $4::text[], $5::integer[]) as j (query_id, document_id, grade)`,
    [
      set.name,
      version,
      judgments.map((j) => j.queryId),
      judgments.map((j) => j.documentId),
      judgments.map((j) => j.grade),
    ],
  );
}

function toJson(tags: GoldenQuery['tags']): string {
  return JSON.stringify(Object.fromEntries(Object.entries(tags).map((tag) => tag.map(wellFormed))));
}

/** Joined here: a join in SQL takes minutes right after the import of a large set, when its tables have no statistics. */
function withJudgments(queries: readonly QueryRow[], judgments: readonly JudgmentRow[]): GoldenQuery[] {
  const judged = new Map<string, Judgment[]>(queries.map((query) => [query.query_id, []]));
  for (const { query_id: id, document_id: documentId, grade } of judgments) judged.get(id)?.push({ documentId, grade });
  return queries.map(({ query_id: id, text, tags, forbidden, no_answer: noAnswer }) => ({
    id,
    text,
    tags,
    judgments: judged.get(id) ?? [],
    ...(forbidden.length === 0 ? {} : { forbidden }),
    ...(noAnswer ? { noAnswer } : {}),
  }));
}
