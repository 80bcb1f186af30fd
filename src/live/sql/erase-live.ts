/**
 * Erasure from live queries, feedback and what is held of their traces. Who and what was erased is remembered for as long
 * as something from before it could come, and that is erased too.
 */
import type { Pool, PoolClient } from 'pg';
import { dayAfter } from '../../postgres/partitions.ts';
import { inTransaction, takeTurn } from '../../postgres/transaction.ts';
import { columnsOf } from '../../postgres/values.ts';
import type { AskedQuery, ErasureReport, ErasureSubject } from '../ports/live-traffic.ts';
import { type ErasedSubject, removeErased } from './erased-rows.ts';

const DAY_MS = 86_400_000;
/** A request that was accepted just before the end of its time is stored by then. */
const UNDER_WAY_MS = 3_600_000;

/** Erases all there is. To be called when it is this transaction's turn to erase. */
export async function eraseLive(
  client: PoolClient,
  subject: ErasureSubject,
  now: Date,
): Promise<Pick<ErasureReport, 'queries' | 'feedback'>> {
  const isUser = subject.kind === 'user';
  const named: ErasedSubject = {
    kind: subject.kind,
    subject: isUser ? subject.userHash : subject.id,
    pipeline: '',
    erasedAt: now,
  };
  const { found, queries, feedback } = await removeErased(client, [named], null);
  await remember(client, [{ ...named, hash: isUser ? null : subject.idHash }, ...found]);
  return { queries, feedback };
}

/**
 * Erases what has come since, of what had happened before the erasure.
 *
 * @param since the first day of receipt that is looked through; null: that of the oldest erasure that is remembered
 */
export async function eraseLate(
  pool: Pool,
  pipelines: readonly string[],
  since: Date | null,
  now: Date,
): Promise<Pick<ErasureReport, 'queries' | 'feedback'>> {
  return inTransaction(pool, async (client) => {
    await takeTurn(client, 'erasure');
    const { rows } = await client.query<ErasedSubject>(
      `select kind, subject, pipeline, erased_at as "erasedAt" from erased_subjects`,
    );
    const oldest = new Date(Math.min(...rows.map(({ erasedAt }) => erasedAt.getTime()), now.getTime()));
    // By its whole key a query is found in an index.
    const subjects = rows.flatMap((one) =>
      one.kind === 'query' && one.pipeline === ''
        ? pipelines.map((pipeline) => ({ ...one, pipeline }))
        : [one],
    );
    const { found, queries, feedback } = await removeErased(client, subjects, daysOf(since ?? oldest, now));
    await remember(client, found);
    return { queries, feedback };
  });
}

/** Forgets whom an erasure was about, once nothing from before it is accepted. */
export async function forgetErased(pool: Pool, longestRetentionDays: number, now: Date): Promise<void> {
  const before = new Date(now.getTime() - longestRetentionDays * DAY_MS - UNDER_WAY_MS);
  await pool.query(`delete from erased_subjects where erased_at < $1::timestamptz`, [before]);
}

export async function areErased(pool: Pool, queries: readonly AskedQuery[]): Promise<readonly boolean[]> {
  const { rows } = await pool.query<{ is_erased: boolean }>(
    `select exists (select from erased_subjects e
                     where e.kind = 'query' and e.subject = q.id and (e.pipeline = '' or e.pipeline = q.pipeline))
         or exists (select from erased_subjects e
                     where e.kind = 'user' and e.subject = q.user_hash and e.erased_at >= q.occurred_at)
         or exists (select from erased_subjects e
                     where e.kind = 'trace' and e.subject = q.trace_id and q.user_hash is null and e.erased_at >= q.occurred_at)
            as is_erased
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[]) with ordinality
         as q (pipeline, id, trace_id, user_hash, occurred_at, place)
      order by place`,
    columnsOf(queries, [
      (query) => query.pipeline,
      (query) => query.id,
      (query) => query.traceId,
      (query) => query.userHash,
      (query) => query.occurredAt,
    ]),
  );
  return rows.map((row) => row.is_erased);
}

async function remember(
  client: PoolClient,
  subjects: readonly (ErasedSubject & { readonly hash?: string | null })[],
): Promise<void> {
  await client.query(
    `insert into erased_subjects as old (kind, subject, pipeline, subject_hash, erased_at)
     select kind, subject, pipeline, max(subject_hash), max(erased_at)
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
         as e (kind, subject, pipeline, subject_hash, erased_at)
      group by kind, subject, pipeline
     on conflict (kind, subject, pipeline) do update set erased_at = greatest(old.erased_at, excluded.erased_at)`,
    columnsOf(subjects, [
      ({ kind }) => kind,
      ({ subject }) => subject,
      ({ pipeline }) => pipeline,
      ({ hash = null }) => hash,
      ({ erasedAt }) => erasedAt,
    ]),
  );
}

function daysOf(from: Date, until: Date): string[] {
  const days: string[] = [];
  const last = dayAfter(until, 0);
  for (let ahead = 0; (days.at(-1) ?? '') < last; ahead += 1) days.push(dayAfter(from, ahead));
  return days;
}
