import type { Pool } from 'pg';
import type { Clock } from '../../../core/time.ts';
import { queryRows } from '../../../platform/postgres/rows.ts';
import { streamRows } from '../../../platform/postgres/stream-rows.ts';
import { type Cell, cellSql, type ExportRow } from '../rules/cells.ts';
import type { ExportTable } from '../rules/export-tables.ts';
import type { DayDigest, DayRange } from '../rules/plan-days.ts';

const LOCK_RETRY_MS = 1000;

export function createExportRows(pool: Pool) {
  return {
    /**
     * Returns one element for each day that has rows, in order of the days: the number of rows, and the time of their
     * last change.
     */
    async digests(table: ExportTable, pipeline: string | null, { from, until }: DayRange): Promise<DayDigest[]> {
      if (!table.isByDay) return digestsOf(pool, table, pipeline, from, until);
      // `greatest` and `least` ignore nulls.
      const days = await queryRows<{ day: string }>(
        pool,
        `select generate_series(greatest(min(${table.day}), $1::date)::timestamp, least(max(${table.day}), $2::date), '1 day')::date::text as day
           from ${table.source}`,
        [from, until],
      );
      const digests: DayDigest[] = [];
      for (const { day } of days) digests.push(...(await digestsOf(pool, table, pipeline, day, day)));
      return digests;
    },

    /**
     * Yields the rows of a day (UTC) in batches.
     *
     * @param withoutTexts pipelines whose private texts are exported as null
     */
    async *rows(
      { columns, source, joins, day: dayOfRow }: ExportTable,
      pipeline: string | null,
      day: string,
      withoutTexts: readonly string[],
      signal: AbortSignal,
    ): AsyncGenerator<readonly ExportRow[]> {
      const selected = columns.map(({ name, type, sql, isPrivate }) => {
        const shown = isPrivate ? `case when r.pipeline = any($3::text[]) then null else ${sql} end` : sql;
        return `${cellSql(type, shown)} as "${name}"`;
      });
      const statement = `select ${selected.join(', ')} from ${source} ${joins}
         where ${dayOfRow} = $1::date and ($2::text is null or r.pipeline = $2::text) and $3::text[] is not null`;
      for await (const batch of streamRows<Record<string, Cell>>(
        pool,
        statement,
        [day, pipeline, withoutTexts],
        signal,
      ))
        yield batch.map((row) => columns.map(({ name }) => row[name] ?? null));
    },

    /**
     * Holds a lock on the folder while `work` runs. The lock excludes all other processes that use the database. Waits
     * while another process holds the lock.
     */
    async alone<T>(folder: string, clock: Clock, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      const client = await pool.connect();
      const ask = async (does: string): Promise<boolean> => {
        const { rows } = await client.query<{ done: boolean }>(
          `select ${does}(hashtextextended($1::text, 0)) as done`,
          [`recalld ${JSON.stringify(['export', folder])}`],
        );
        return rows[0]?.done === true;
      };
      let isHeld = false;
      try {
        for (;;) {
          isHeld = await ask('pg_try_advisory_lock');
          if (isHeld) return await work();
          await clock.sleep(LOCK_RETRY_MS, signal);
        }
      } finally {
        // A closed connection releases its locks.
        const isFree = !isHeld || (await ask('pg_advisory_unlock').catch(() => false));
        client.release(!isFree);
      }
    },
  };
}

function digestsOf(
  pool: Pool,
  { day, changed, source }: ExportTable,
  pipeline: string | null,
  from: string | null,
  until: string | null,
): Promise<DayDigest[]> {
  return queryRows<DayDigest>(
    pool,
    `select (${day})::text as day, count(*)::integer as rows, ${cellSql('timestamp', `max(${changed})`)} as changed
       from ${source}
      where ($1::text is null or r.pipeline = $1::text)
        and (${day}) >= coalesce($2::date, '-infinity') and (${day}) <= coalesce($3::date, 'infinity')
      group by 1 order by 1`,
    [pipeline, from, until],
  );
}
