/**
 * Counts of retriever spans that produced no live query, by kind. Ingestion writes the counts; `recalld doctor` reads
 * them.
 */

import type { Pool } from 'pg';
import { DAY_MS } from '../../core/time.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { columnsOf } from '../../platform/postgres/values.ts';
import type { UnreadableRetriever } from '../rules/otel/unreadable-retriever.ts';

/** A kind is deleted if it has not occurred for this long. */
const REMEMBERED_MS = 30 * DAY_MS;

export interface SeenUnreadable extends UnreadableRetriever {
  readonly lastSeenAt: Date;
}

/** Adds the spans to the counts of their kinds, and deletes kinds that have not occurred recently. */
export async function recordUnreadable(pool: Pool, kinds: readonly UnreadableRetriever[], now: Date): Promise<void> {
  await pool.query(
    `insert into unreadable_retrievers as u (pipeline, instrumentation, reason, attributes, spans, last_seen_at)
     select pipeline, instrumentation, reason, array(select jsonb_array_elements_text(attributes::jsonb)), spans, $6::timestamptz
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
         as k (pipeline, instrumentation, reason, attributes, spans)
      order by pipeline, instrumentation, reason
     on conflict (pipeline, instrumentation, reason) do update
       set attributes = excluded.attributes, spans = u.spans + excluded.spans, last_seen_at = excluded.last_seen_at`,
    [
      ...columnsOf(kinds, [
        'pipeline',
        'instrumentation',
        'reason',
        (kind) => JSON.stringify(kind.attributes),
        'spans',
      ]),
      now,
    ],
  );
  await pool.query('delete from unreadable_retrievers where last_seen_at < $1::timestamptz', [
    new Date(now.getTime() - REMEMBERED_MS),
  ]);
}

/** Returns the kinds that have occurred since the given time, latest first. */
export async function readUnreadable(pool: Pool, since: Date): Promise<SeenUnreadable[]> {
  const rows = await queryRows<Omit<SeenUnreadable, 'spans'> & { readonly spans: string }>(
    pool,
    `select pipeline, instrumentation, reason, attributes, spans, last_seen_at from unreadable_retrievers
      where last_seen_at >= $1::timestamptz order by last_seen_at desc, pipeline, instrumentation, reason`,
    [since],
  );
  return rows.map((row) => ({ ...row, spans: Number(row.spans) }));
}
