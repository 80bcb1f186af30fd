/**
 * Erasure from live queries, feedback and what is held of their traces. Who and what was erased is remembered for as long
 * as something from before it could come, and that is erased too.
 */
import type { Pool, PoolClient } from 'pg';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';
import { dayAfter } from '../../platform/postgres/upkeep.ts';
import { columnsOf } from '../../platform/postgres/values.ts';
import type { LiveSample } from './record-arrivals.ts';

export type ErasableQuery = Pick<LiveSample, 'pipeline' | 'id' | 'traceId' | 'userHash' | 'occurredAt'>;

export type ErasureSubject =
  | { readonly kind: 'user'; readonly userHash: string }
  | { readonly kind: 'query'; readonly id: string; readonly idHash: string };

export interface ErasureReport {
  readonly queries: number;
  readonly feedback: number;
  /** Golden queries whose text came from them. */
  readonly goldenQueries: number;
}

interface ErasedSubject {
  readonly kind: 'user' | 'query' | 'trace';
  /** The keyed hash of a user, else the id. */
  readonly subject: string;
  /** Of a query; empty: of whatever pipeline, which has to be told of what comes late. */
  readonly pipeline: string;
  readonly erasedAt: Date;
}

/**
 * Null: all there is. Else what came on these days (UTC, YYYY-MM-DD) of what had happened before its erasure; the id of
 * an erased query is that of the same query whenever it says that it happened.
 */
type LateDays = readonly string[] | null;

interface ErasedQuery {
  readonly receivedOn: string;
  readonly pipeline: string;
  readonly id: string;
  readonly traceId: string | null;
  readonly erasedAt: Date;
}

const ofUser = 'r.user_hash = e.subject and r.occurred_at <= e.until';
/** What nobody else said in the trace of a person, they said. */
const ofTrace = 'r.trace_id = e.subject and r.user_hash is null and r.occurred_at <= e.until';
const ofId = (column: string, hasPipeline: boolean) =>
  `r.${column} = e.subject${hasPipeline ? ' and r.pipeline = e.pipeline' : ''}`;

/** In the order that waits for a trace that is being completed with a person right now, and then finds it. */
async function removeErased(client: PoolClient, subjects: readonly ErasedSubject[], late: LateDays) {
  const users = subjects.filter(({ kind }) => kind === 'user');
  const ids = subjects.filter(({ kind }) => kind === 'query');
  const held = await removeFragmentsOfUsers(client, users, late);
  const byUser = await removeQueries(client, ofUser, users, late);
  const newTraces = [...held, ...byUser].flatMap(traceOf);
  const traces = [...subjects.filter(({ kind }) => kind === 'trace'), ...newTraces];
  const byTrace = await removeQueries(client, ofTrace, traces, late);
  const byId = await removeQueries(client, ofId('id', late !== null), ids, late);
  await removeFragments(client, [
    ...traces,
    ...byId.flatMap(traceOf),
    ...(late === null ? ids.flatMap(traceToldBy) : []),
  ]);
  const queries = [...byUser, ...byTrace, ...byId];
  await removeWhatWasMadeOf(client, queries);
  if (late === null) await removeByIds(client, ids);
  const newIds = queries.map(
    ({ id: subject, pipeline, erasedAt }): ErasedSubject => ({ kind: 'query', subject, pipeline, erasedAt }),
  );
  let feedback = await removeFeedback(client, ofUser, users, late);
  feedback += await removeFeedback(client, ofTrace, traces, late);
  for (const column of ['query_id', 'judged_id']) {
    feedback += await removeFeedback(client, ofId(column, late !== null), ids, late);
    // Of whatever day: it may have come before its query.
    feedback += await removeFeedback(client, ofId(column, true), newIds, null);
  }
  return {
    /** The queries, and the traces of people: what is said about them later is to go as well. */
    found: [...newIds, ...newTraces],
    queries: queries.length,
    feedback,
  };
}

type Found = Pick<ErasedQuery, 'traceId' | 'erasedAt'>;

function traceOf({ traceId: subject, erasedAt }: Found): ErasedSubject[] {
  return subject === null ? [] : [{ kind: 'trace', subject, pipeline: '', erasedAt }];
}

/** OpenTelemetry has the trace in the id of its queries. */
function traceToldBy({ subject, erasedAt }: ErasedSubject): ErasedSubject[] {
  const [, traceId = null] = /^([0-9a-f]{32})-[0-9a-f]{16}$/.exec(subject) ?? [];
  return traceOf({ traceId, erasedAt });
}

/** The subjects as a relation `e`, for the parameters of `valuesOf`. */
const erased =
  'unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as e (subject, pipeline, erased_at, until)';

function valuesOf(subjects: readonly ErasedSubject[], late: LateDays): unknown[] {
  const columns = columnsOf(subjects, [
    ({ subject }) => subject,
    ({ pipeline }) => pipeline,
    ({ erasedAt }) => erasedAt,
    ({ erasedAt }) => (late === null ? 'infinity' : erasedAt),
  ]);
  return late === null ? columns : [...columns, late];
}

const onDays = (late: LateDays) => (late === null ? '' : 'and r.received_on = any($5::date[])');

async function removeQueries(
  client: PoolClient,
  condition: string,
  subjects: readonly ErasedSubject[],
  late: LateDays,
): Promise<ErasedQuery[]> {
  if (subjects.length === 0) return [];
  return queryRows<ErasedQuery>(
    client,
    `delete from live_queries r using ${erased}
      where ${condition} ${onDays(late)}
     returning r.received_on::text, r.pipeline, r.id, r.trace_id, e.erased_at`,
    valuesOf(subjects, late),
  );
}

async function removeFeedback(
  client: PoolClient,
  condition: string,
  subjects: readonly ErasedSubject[],
  late: LateDays,
): Promise<number> {
  if (subjects.length === 0) return 0;
  const { rowCount } = await client.query(
    `delete from feedback r using ${erased} where ${condition} ${onDays(late)}`,
    valuesOf(subjects, late),
  );
  return rowCount ?? 0;
}

/** @returns their traces */
async function removeFragmentsOfUsers(
  client: PoolClient,
  users: readonly ErasedSubject[],
  late: LateDays,
): Promise<Found[]> {
  if (users.length === 0) return [];
  return queryRows<Found>(
    client,
    `delete from trace_fragments r using ${erased}
      where r.user_hash = e.subject and to_timestamp(r.ended_at_unix_nano / 1000000000) <= e.until
     returning r.trace_id, e.erased_at`,
    valuesOf(users, late).slice(0, 4),
  );
}

async function removeFragments(client: PoolClient, traces: readonly ErasedSubject[]): Promise<void> {
  if (traces.length === 0) return;
  await client.query(`delete from trace_fragments where trace_id = any($1::text[])`, [
    traces.map(({ subject }) => subject),
  ]);
}

/** A baseline outlives its queries, a topic shows some of them, and judgments are of what they asked. */
async function removeWhatWasMadeOf(client: PoolClient, queries: readonly ErasedQuery[]): Promise<void> {
  if (queries.length === 0) return;
  const keys = columnsOf(queries, [({ pipeline }) => pipeline, ({ id }) => id]);
  await client.query(
    `delete from query_coverage
      where (received_on, pipeline, id) in (select * from unnest($1::date[], $2::text[], $3::text[]))`,
    [queries.map((row) => row.receivedOn), ...keys],
  );
  for (const [table, column] of madeByIds)
    await client.query(
      `delete from ${table} where (pipeline, ${column}) in (select * from unnest($1::text[], $2::text[]))`,
      keys,
    );
  await client.query(
    `update uncovered_topics t
        set examples = array(select e.id from unnest(t.examples) with ordinality as e (id, place)
                              where (t.pipeline, e.id) not in (select * from unnest($1::text[], $2::text[])) order by place)
      where t.examples && $2::text[]`,
    keys,
  );
}

/** What was made of a query may outlive its row, and is then known by its id alone, in whichever pipeline. */
async function removeByIds(client: PoolClient, queries: readonly ErasedSubject[]): Promise<void> {
  if (queries.length === 0) return;
  const ids = [queries.map(({ subject }) => subject)];
  for (const [table, column] of madeByIds)
    await client.query(`delete from ${table} where ${column} = any($1::text[])`, ids);
  await client.query(
    `update uncovered_topics t
        set examples = array(select e.id from unnest(t.examples) with ordinality as e (id, place)
                              where e.id <> all($1::text[]) order by place)
      where t.examples && $1::text[]`,
    ids,
  );
}

const madeByIds = [
  ['density_baseline_queries', 'id'],
  ['shadow_answers', 'query_id'],
  ['pool_judgments', 'query_id'],
  ['judge_panel_pairs', 'query_id'],
  ['judged_queries', 'query_id'],
] as const;

/** A request that was accepted just before the end of its time is stored by then. */
const UNDER_WAY_MS = HOUR_MS;

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
    await lockInTransaction(client, 'erasure');
    const rows = await queryRows<ErasedSubject>(
      client,
      `select kind, subject, pipeline, erased_at from erased_subjects`,
    );
    const oldest = new Date(Math.min(...rows.map(({ erasedAt }) => erasedAt.getTime()), now.getTime()));
    // By its whole key a query is found in an index.
    const subjects = rows.flatMap((one) =>
      one.kind === 'query' && one.pipeline === '' ? pipelines.map((pipeline) => ({ ...one, pipeline })) : [one],
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

export async function areErased(pool: Pool, queries: readonly ErasableQuery[]): Promise<readonly boolean[]> {
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
     on conflict (kind, subject, pipeline) do update
       set erased_at = greatest(old.erased_at, excluded.erased_at),
           subject_hash = coalesce(excluded.subject_hash, old.subject_hash)`,
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
