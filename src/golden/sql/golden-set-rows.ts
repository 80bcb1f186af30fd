import type pg from 'pg';
import type { GoldenQuery, Judgment } from '../../core/model.ts';
import { insertRows } from '../../platform/postgres/rows.ts';
import type { NewGoldenSet } from '../rules/golden-set.ts';

/** Number of rows per statement; a statement of this size takes a few milliseconds. */
const ROWS = 2000;

const judgmentColumns = {
  goldenSet: 'text',
  version: 'integer',
  queryId: 'text',
  documentId: 'text',
  grade: 'integer',
} as const;

/** @throws the reason of the signal, which is checked between statements */
export async function insertVersion(
  client: pg.PoolClient,
  set: NewGoldenSet,
  version: number,
  now: Date,
  signal?: AbortSignal,
): Promise<void> {
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
      set.queries.reduce((sum, { judgments }) => sum + judgments.length, 0),
      set.origin ?? 'human',
      set.note ?? null,
    ],
  );
  for (let from = 0; from < set.queries.length; from += ROWS) {
    signal?.throwIfAborted();
    await insertQueries(client, set.name, version, set.queries.slice(from, from + ROWS), from);
  }
  let batch: (Judgment & { goldenSet: string; version: number; queryId: string })[] = [];
  for (const { id, judgments } of set.queries) {
    for (const { documentId, grade } of judgments) {
      batch.push({ goldenSet: set.name, version, queryId: id, documentId, grade });
      if (batch.length < ROWS) continue;
      signal?.throwIfAborted();
      await insertRows(client, 'golden_judgments', judgmentColumns, batch);
      batch = [];
    }
  }
  await insertRows(client, 'golden_judgments', judgmentColumns, batch);
}

/** @param before number of queries that were already inserted into the version */
async function insertQueries(
  client: pg.PoolClient,
  name: string,
  version: number,
  queries: readonly GoldenQuery[],
  before: number,
): Promise<void> {
  await client.query(
    `insert into golden_queries (golden_set, version, query_id, position, text, tags, steps, forbidden, no_answer)
     select $1::text, $2::integer, q.query_id, $9::integer + q.position, q.text, q.tags::jsonb, ${textList('q.steps')},
            ${textList('q.forbidden')}, q.no_answer
       from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[])
            with ordinality as q (query_id, text, tags, steps, forbidden, no_answer, position)`,
    [
      name,
      version,
      queries.map((q) => q.id),
      queries.map((q) => q.text),
      queries.map((q) => tagsToJson(q.tags)),
      queries.map((q) => JSON.stringify(q.steps ?? [])),
      queries.map((q) => JSON.stringify((q.forbidden ?? []).map((pattern) => pattern.toWellFormed()))),
      queries.map((q) => q.noAnswer ?? false),
      before,
    ],
  );
}

/**
 * Returns the SQL that converts a JSON array of strings to an array of texts. The parameter is JSON, because unnest
 * would flatten an array of arrays.
 */
function textList(column: string): string {
  return `array(select e.value from jsonb_array_elements_text(${column}::jsonb) with ordinality as e order by e.ordinality)`;
}

export function tagsToJson(tags: GoldenQuery['tags']): string {
  return JSON.stringify(Object.fromEntries(Object.entries(tags).map((tag) => tag.map((text) => text.toWellFormed()))));
}

/** Returns SQL that yields the judgments of a row of `golden_queries`, sorted by document; null if it has none. */
export function judgmentsOf(row: string): string {
  return `(select array_agg(array[document_id, grade::text] order by document_id) from golden_judgments
            where (golden_set, version, query_id) = (${row}.golden_set, ${row}.version, ${row}.query_id))`;
}
