/** The manifests in PostgreSQL: expected documents, and changes that have not reached the store yet. */

import type { Pool } from 'pg';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { binaryArray, columnsOf } from '../../platform/postgres/values.ts';
import type { NamedDocument, SegmentedDocument } from './rounds-table.ts';
import type { ManifestDocument } from './rules/manifest-line.ts';
import { type Arrival, FIRST_PLACE, randomPlace } from './rules/probe-estimates.ts';

export interface ExpectedDocument extends SegmentedDocument {
  /** Position in the random order of all documents. */
  readonly place: string;
  readonly chunks: number | null;
}

const columns = 'id, updated_at, hash, deleted, chunks, segment';
const contentOf = (table: string, ...more: readonly string[]): string =>
  [...more, 'updated_at', 'hash', 'deleted', 'chunks', 'segment'].map((column) => `${table}.${column}`).join(', ');
const versionOf = (table: string): string =>
  ['updated_at', 'hash', 'deleted'].map((column) => `${table}.${column}`).join(', ');

/** Restricts documents by time (unchanged since `until`), by segment, or by both. */
export interface Expectation {
  readonly until?: Date;
  readonly segment?: string;
}

export function createDocumentsTable(pool: Pool) {
  /** Returns documents that should be in the store, starting after a position in the random order. */
  const after = (
    pipeline: string,
    { place, id }: typeof FIRST_PLACE,
    { until, segment }: Expectation,
    limit: number,
  ): Promise<readonly ExpectedDocument[]> =>
    queryRows<ExpectedDocument>(
      pool,
      `select d.id, d.place::text, d.chunks, d.segment from index_documents d
        where d.pipeline = $1::text and not d.deleted and (d.place, d.id) > ($2::bigint, $3::text)
          and ($4::timestamptz is null or d.since <= $4::timestamptz) and ($5::text is null or d.segment = $5::text)
        order by d.place, d.id limit $6::integer`,
      [pipeline, place, id, until ?? null, segment ?? null, limit],
    );
  return {
    async deleteLines(pipeline: string): Promise<void> {
      await pool.query('delete from index_manifest_lines where pipeline = $1::text', [pipeline]);
    },

    /** Stores manifest lines. If an id is repeated, the last line applies. */
    async storeLines(pipeline: string, documents: readonly ManifestDocument[]): Promise<void> {
      const last = [...new Map(documents.map((document) => [document.id, document])).values()];
      const column = (type: Parameters<typeof binaryArray>[0], key: Exclude<keyof ManifestDocument, 'isDeleted'>) => {
        const values = last.map((document) => document[key]);
        return binaryArray(type, values);
      };
      await pool.query(
        `insert into index_manifest_lines (pipeline, ${columns}, is_new, is_other, is_changed)
         select $1::text, ${contentOf('l', 'id')}, d.id is null or d.deleted,
                (${versionOf('l')}) is distinct from (${versionOf('d')}), (${contentOf('l')}) is distinct from (${contentOf('d')})
           from unnest($2::text[], $3::timestamptz[], $4::text[], $5::boolean[], $6::integer[], $7::text[]) as l (${columns})
           left join index_documents d on d.pipeline = $1::text and d.id = l.id
         on conflict (pipeline, id) do update
         set (updated_at, hash, deleted, chunks, segment, is_new, is_other, is_changed)
           = (${contentOf('excluded')}, excluded.is_new, excluded.is_other, excluded.is_changed)`,
        [
          pipeline,
          column('text', 'id'),
          column('timestamptz', 'updatedAt'),
          column('text', 'hash'),
          last.map(({ isDeleted }) => isDeleted),
          column('integer', 'chunks'),
          column('text', 'segment'),
        ],
      );
    },

    /** Returns the number of stored lines; 0 after a database crash. */
    async countLines(pipeline: string): Promise<number> {
      const sql = 'select count(*)::integer from index_manifest_lines where pipeline = $1::text';
      return (await queryRow<{ count: number }>(pool, sql, [pipeline]))?.count ?? 0;
    },

    /**
     * Applies the lines as the new manifest, atomically; documents that are no longer listed count as deleted. Tracks
     * the arrival of at most `maxArrivals` new versions, selected at random. If `hasVersions` is false, tracks only new
     * documents.
     *
     * @param read when this reading of the manifest started
     * @param before when the previous reading started; null for the first reading, in which every document looks new
     */
    accept(
      pipeline: string,
      read: Date,
      before: Date | null,
      { maxArrivals, hasVersions }: { readonly maxArrivals: number; readonly hasVersions: boolean },
    ) {
      return inTransaction(pool, async (client) => {
        const { rowCount: written } = await client.query(
          `insert into index_documents as d (pipeline, ${columns}, place, since)
           select pipeline, ${columns}, hashtextextended(id, 0),
                  least($1::timestamptz, coalesce(updated_at, $1::timestamptz))
             from index_manifest_lines where pipeline = $2::text and is_changed
           on conflict (pipeline, id) do update
           set (updated_at, hash, deleted, chunks, segment) = (${contentOf('excluded')}),
               since = case when (${versionOf('excluded')}) is distinct from (${versionOf('d')}) then excluded.since else d.since end`,
          [read, pipeline],
        );
        const { rowCount: gone } = await client.query(
          `update index_documents d set deleted = true, since = $2::timestamptz
            where pipeline = $1::text and not deleted
              and not exists (select from index_manifest_lines l where l.pipeline = d.pipeline and l.id = d.id)`,
          [pipeline, read],
        );
        await client.query(
          `update index_arrivals a set is_closed = true
            where pipeline = $1::text and not is_closed
              and not exists (select from index_manifest_lines l where l.pipeline = a.pipeline and l.id = a.id)`,
          [pipeline],
        );
        if (before !== null) {
          // Skips versions whose `updated_at` is in the future or more than a day before the previous reading. Such a
          // time may state when the document was written rather than when it was ingested.
          await client.query(
            `with new_versions as (
               select id, coalesce(updated_at, $2::timestamptz) as updated_at, segment,
                      case when is_new then null else coalesce(hash, to_jsonb(updated_at) #>> '{}') end as version
                 from index_manifest_lines
                where pipeline = $1::text and is_other and not deleted and (is_new or $5::boolean)
                  and coalesce(updated_at, $2::timestamptz) between $3::timestamptz - interval '1 day' and $2::timestamptz
             ), older as (
               update index_arrivals a set is_closed = true
                 from index_manifest_lines l
                where a.pipeline = $1::text and l.pipeline = $1::text and a.id = l.id and not a.is_closed and l.is_other
                  and (l.deleted or $5::boolean)
             )
             insert into index_arrivals (pipeline, id, updated_at, version, segment, weight, checked_at)
             select $1::text, id, updated_at, version, segment,
                    greatest(1, count(*) over ()::double precision / $4::integer), updated_at
               from new_versions order by random() limit $4::integer
             on conflict do nothing`,
            [pipeline, read, before, maxArrivals, hasVersions],
          );
        }
        await client.query('delete from index_manifest_lines where pipeline = $1::text', [pipeline]);
        await client.query(
          `delete from index_arrivals where pipeline = $1::text and updated_at < $2::timestamptz - interval '2 days'`,
          [pipeline, read],
        );
        const sql = 'select count(*)::integer from index_documents where pipeline = $1::text and not deleted';
        const documents = (await queryRow<{ count: number }>(client, sql, [pipeline]))?.count ?? 0;
        return { documents, written: written ?? 0, gone: gone ?? 0 };
      });
    },

    after,

    /** Selects expected documents uniformly at random. */
    async draw(pipeline: string, among: Expectation, n: number): Promise<readonly ExpectedDocument[]> {
      const documents = await after(pipeline, { place: randomPlace(Math.random()), id: '' }, among, n);
      if (documents.length === n) return documents;
      // After the last document, the random order continues with the first.
      const more = await after(pipeline, FIRST_PLACE, among, n - documents.length);
      return [...new Map([...documents, ...more].map((document) => [document.id, document])).values()];
    },

    /** Returns the given ids of documents that should be in the store or were deleted after `since`. */
    async expected(pipeline: string, ids: readonly string[], since: Date): Promise<ReadonlySet<string>> {
      const rows = await queryRows<{ id: string }>(
        pool,
        `select id from index_documents
          where pipeline = $1::text and id = any($2::text[]) and (not deleted or since > $3::timestamptz)`,
        [pipeline, ids, since],
      );
      return new Set(rows.map(({ id }) => id));
    },

    async chunkCounts(pipeline: string, ids: readonly string[]): Promise<ReadonlyMap<string, number | null>> {
      const rows = await queryRows<{ id: string; chunks: number | null }>(
        pool,
        'select id, chunks from index_documents where pipeline = $1::text and id = any($2::text[])',
        [pipeline, ids],
      );
      return new Map(rows.map(({ id, chunks }) => [id, chunks]));
    },

    /**
     * Returns a function that maps a document id to the document's segment in the last manifest, or to null if the
     * document has no segment.
     */
    async segmentsOf(pipeline: string, ids: readonly string[]): Promise<(id: string) => string | null> {
      const rows = await queryRows<{ id: string; segment: string | null }>(
        pool,
        'select id, segment from index_documents where pipeline = $1::text and id = any($2::text[])',
        [pipeline, ids],
      );
      const segments = new Map(rows.map(({ id, segment }) => [id, segment]));
      return (id) => segments.get(id) ?? null;
    },

    /** Returns the segments of expected documents, largest first. */
    async segments(pipeline: string): Promise<readonly string[]> {
      const rows = await queryRows<{ segment: string }>(
        pool,
        `select segment from index_documents where pipeline = $1::text and not deleted and segment is not null
          group by segment order by count(*) desc, segment`,
        [pipeline],
      );
      return rows.map(({ segment }) => segment);
    },

    /** Returns the smallest and largest id in byte order, the count, and up to `limit` ids; includes deleted ids. */
    async idsOf(pipeline: string, segment: string, limit: number) {
      const rows = await queryRows<{ first: string; last: string; count: number; some: readonly string[] }>(
        pool,
        `select min(id collate "C") as first, max(id collate "C") as last, count(*)::integer as count,
                array(select id from index_documents where pipeline = $1::text and segment = $2::text
                       order by place limit $3::integer) as some
           from index_documents where pipeline = $1::text and segment = $2::text`,
        [pipeline, segment, limit],
      );
      return rows[0] ?? { first: '', last: '', count: 0, some: [] };
    },

    /** Returns true if no id outside the segment starts with the prefix. */
    async isUniquePrefix(pipeline: string, segment: string, prefix: string): Promise<boolean> {
      const rows = await queryRows<{ own: boolean }>(
        pool,
        `select not exists (select from index_documents
                             where pipeline = $1::text and segment is distinct from $2::text and starts_with(id, $3::text)) as own`,
        [pipeline, segment, prefix],
      );
      return rows[0]?.own ?? false;
    },

    /** Returns the changes that have not arrived yet, least recently checked first. */
    async waiting(pipeline: string, limit: number): Promise<readonly WaitingChange[]> {
      return queryRows<WaitingChange>(
        pool,
        `select id, updated_at, version from index_arrivals
          where pipeline = $1::text and not is_closed order by checked_at, id limit $2::integer`,
        [pipeline, limit],
      );
    },

    /**
     * Returns up to `limit` documents with a change that was made at or before `until` and has not arrived yet, oldest
     * change first. `count` is the total number of such documents, regardless of `limit`.
     */
    async late(pipeline: string, until: Date, limit: number) {
      const rows = await queryRows<NamedDocument & { count: number }>(
        pool,
        `select id, segment, updated_at as "foundAt", (count(*) over ())::integer as count from index_arrivals
          where pipeline = $1::text and not is_closed and updated_at <= $2::timestamptz
          order by updated_at, id limit $3::integer`,
        [pipeline, until, limit],
      );
      return { count: rows[0]?.count ?? 0, documents: rows.map(({ count: _count, ...document }) => document) };
    },

    async recordChecks(
      pipeline: string,
      checks: readonly (WaitingChange & { readonly isThere: boolean })[],
      at: Date,
    ): Promise<void> {
      await pool.query(
        `update index_arrivals a set checked_at = $2::timestamptz, has_arrived = l.there, is_closed = l.there,
                absent_at = case when l.there then a.absent_at else $2::timestamptz end
           from unnest($3::text[], $4::timestamptz[], $5::boolean[]) as l (id, updated_at, there)
          where a.pipeline = $1::text and a.id = l.id and a.updated_at = l.updated_at and not a.is_closed`,
        [pipeline, at, ...columnsOf(checks, [({ id }) => id, ({ updatedAt }) => updatedAt, ({ isThere }) => isThere])],
      );
    },

    /** Returns the changes tracked since `from`, including those that are still waiting. */
    async arrivals(pipeline: string, from: Date): Promise<readonly FollowedChange[]> {
      return queryRows<FollowedChange>(
        pool,
        `select segment, weight, has_arrived as "hasArrived", not is_closed as "isWaiting",
                greatest(0, extract(epoch from coalesce(absent_at, updated_at) - updated_at))::double precision as after,
                greatest(0, extract(epoch from checked_at - updated_at))::double precision as by
           from index_arrivals where pipeline = $1::text and updated_at >= $2::timestamptz`,
        [pipeline, from],
      );
    },
  };
}

export interface WaitingChange {
  readonly id: string;
  readonly updatedAt: Date;
  /** The version that should reach the store; null for a new document. */
  readonly version: string | null;
}

export interface FollowedChange extends Arrival {
  readonly segment: string | null;
  /** True while the change is expected; false if it arrived, or if the manifest no longer lists this version. */
  readonly isWaiting: boolean;
}
