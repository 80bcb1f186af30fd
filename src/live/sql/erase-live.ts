/**
 * Erases live queries, feedback and trace fragments. Remembers erased users and queries until their data from before
 * the erasure can no longer arrive, and erases such data on arrival.
 */
import type { Pool, PoolClient } from 'pg';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { dayAfter } from '../../platform/postgres/partitions.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';
import { columnsOf } from '../../platform/postgres/values.ts';
import type { LiveSample } from './record-arrivals.ts';

export type ErasableQuery = Pick<LiveSample, 'pipeline' | 'id' | 'traceId' | 'episode' | 'userHash' | 'occurredAt'>;

export type ErasureSubject =
  | { readonly kind: 'user'; readonly userHash: string }
  | { readonly kind: 'query'; readonly id: string; readonly idHash: string };

export interface ErasureReport {
  readonly queries: number;
  readonly feedback: number;
  /** Number of golden queries that were promoted from the erased queries. */
  readonly goldenQueries: number;
}

interface ErasedSubject {
  readonly kind: 'user' | 'query' | 'trace' | 'episode';
  /** Keyed hash of a user id; for any other subject, the id itself. */
  readonly subject: string;
  /** Pipeline of a query or an episode; empty for any pipeline. */
  readonly pipeline: string;
  readonly erasedAt: Date;
}

/**
 * Days of arrival (UTC, YYYY-MM-DD) to search for late data; null for all days. Only data from before the erasure is
 * erased, with one exception: the data of an erased query id is erased no matter when the query occurred.
 */
type LateDays = readonly string[] | null;

interface ErasedQuery {
  readonly receivedOn: string;
  readonly pipeline: string;
  readonly id: string;
  readonly traceId: string | null;
  readonly episode: string | null;
  readonly erasedAt: Date;
}

const ofUser = 'r.user_hash = e.subject and r.occurred_at <= e.until';
/** Matches rows without a user in a trace of an erased user; these rows are erased too. */
const ofTrace = 'r.trace_id = e.subject and r.user_hash is null and r.occurred_at <= e.until';
/** Matches rows without a user in an episode of an erased user; these rows are erased too. */
const ofEpisode =
  'r.episode = e.subject and r.pipeline = e.pipeline and r.user_hash is null and r.occurred_at <= e.until';
const ofId = (column: string, hasPipeline: boolean) =>
  `r.${column} = e.subject${hasPipeline ? ' and r.pipeline = e.pipeline' : ''}`;

/**
 * Deletes the fragments of erased users before their queries. Deleting a fragment waits for any concurrent transaction
 * that completes the same trace. If that transaction adds an erased user to queries, these queries are found too.
 */
async function removeErased(client: PoolClient, subjects: readonly ErasedSubject[], late: LateDays) {
  const users = subjects.filter(({ kind }) => kind === 'user');
  const ids = subjects.filter(({ kind }) => kind === 'query');
  const fragments =
    users.length === 0 ? [] : await queryRows<Found>(client, removeFragmentsSql, valuesOf(users, late).slice(0, 4));
  const removeQueries = (condition: string, found: readonly ErasedSubject[]) =>
    remove<ErasedQuery>(client, 'live_queries', condition, found, late, queryColumns);
  const byUser = await removeQueries(ofUser, users);
  const newTraces = [...fragments, ...byUser].flatMap(traceOf);
  const traces = [...subjects.filter(({ kind }) => kind === 'trace'), ...newTraces];
  const byTrace = await removeQueries(ofTrace, traces);
  const newEpisodes = [...byUser, ...byTrace].flatMap(episodeOf);
  const episodes = [...subjects.filter(({ kind }) => kind === 'episode'), ...newEpisodes];
  const byEpisode = await removeQueries(ofEpisode, episodes);
  const byId = await removeQueries(ofId('id', late !== null), ids);
  const allTraces = [...traces, ...byId.flatMap(traceOf), ...(late === null ? ids.flatMap(traceOfId) : [])];
  if (allTraces.length > 0)
    await client.query(`delete from trace_fragments where trace_id = any($1::text[])`, [
      allTraces.map(({ subject }) => subject),
    ]);
  const queries = [...byUser, ...byTrace, ...byEpisode, ...byId];
  // Violations are also stored for unsampled queries.
  for (const [condition, found] of [
    [ofUser, users],
    [ofTrace, traces],
    [ofId('query_id', late !== null), ids],
  ] as const)
    await remove(client, 'isolation_violations', condition, found, late);
  await removeDerived(client, queries);
  await removeOriginalTexts(client, byId);
  // Derived data may outlive the row of its query, so it is removed by query id in all pipelines.
  if (late === null && ids.length > 0)
    await removeDerivedRows(client, isAny, '$1', [ids.map(({ subject }) => subject)]);
  const newIds = queries.map(
    ({ id: subject, pipeline, erasedAt }): ErasedSubject => ({ kind: 'query', subject, pipeline, erasedAt }),
  );
  let feedback = 0;
  const removeFeedback = async (condition: string, found: readonly ErasedSubject[], days: LateDays) => {
    feedback += (await remove(client, 'feedback', condition, found, days)).length;
  };
  await removeFeedback(ofUser, users, late);
  await removeFeedback(ofTrace, traces, late);
  for (const column of ['query_id', 'judged_id']) {
    await removeFeedback(ofId(column, late !== null), ids, late);
    // Searches all days, because feedback may arrive before its query.
    await removeFeedback(ofId(column, true), newIds, null);
  }
  return {
    /**
     * Erased queries, and the traces and episodes of erased users. If more data of these queries, traces and episodes
     * arrives later, it must be erased too.
     */
    found: [...newIds, ...newTraces, ...newEpisodes],
    queries: queries.length,
    feedback,
  };
}

type Found = Pick<ErasedQuery, 'traceId' | 'erasedAt'>;

function episodeOf({ episode: subject, pipeline, erasedAt }: ErasedQuery): ErasedSubject[] {
  return subject === null ? [] : [{ kind: 'episode', subject, pipeline, erasedAt }];
}

function traceOf({ traceId: subject, erasedAt }: Found): ErasedSubject[] {
  return subject === null ? [] : [{ kind: 'trace', subject, pipeline: '', erasedAt }];
}

/** Query ids from OpenTelemetry contain the trace id. */
function traceOfId({ subject, erasedAt }: ErasedSubject): ErasedSubject[] {
  const [, traceId = null] = /^([0-9a-f]{32})-[0-9a-f]{16}$/.exec(subject) ?? [];
  return traceOf({ traceId, erasedAt });
}

/** SQL relation `e` with one row per subject; `valuesOf` returns its parameters. */
const erased =
  'unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as e (subject, pipeline, erased_at, until)';

function valuesOf(subjects: readonly ErasedSubject[], late: LateDays): unknown[] {
  const columns = columnsOf(subjects, [
    'subject',
    'pipeline',
    'erasedAt',
    ({ erasedAt }) => (late === null ? 'infinity' : erasedAt),
  ]);
  return late === null ? columns : [...columns, late];
}

const removeFragmentsSql = `
  delete from trace_fragments r using ${erased}
   where r.user_hash = e.subject and to_timestamp(r.ended_at_unix_nano / 1000000000) <= e.until
  returning r.trace_id, e.erased_at`;

const onDays = (late: LateDays) => (late === null ? '' : 'and r.received_on = any($5::date[])');

const queryColumns = 'r.received_on::text, r.pipeline, r.id, r.trace_id, r.episode, e.erased_at';

/** Deletes the rows `r` of a table that match a subject `e`. */
async function remove<Row extends object>(
  client: PoolClient,
  table: string,
  condition: string,
  subjects: readonly ErasedSubject[],
  late: LateDays,
  returning = 'r.pipeline',
): Promise<Row[]> {
  if (subjects.length === 0) return [];
  return queryRows<Row>(
    client,
    `delete from ${table} r using ${erased} where ${condition} ${onDays(late)} returning ${returning}`,
    valuesOf(subjects, late),
  );
}

/**
 * Removes data derived from queries: baseline queries, examples of topics, and judgments. Also removes the names of
 * topics that had one of the queries as an example, because the words of a name come from the examples. The next search
 * for topics gives these topics new names.
 */
async function removeDerived(client: PoolClient, queries: readonly ErasedQuery[]): Promise<void> {
  if (queries.length === 0) return;
  const [days, ...keys] = columnsOf(queries, ['receivedOn', 'pipeline', 'id']);
  await client.query(
    `delete from query_coverage
      where (received_on, pipeline, id) in (select * from unnest($1::date[], $2::text[], $3::text[]))`,
    [days, ...keys],
  );
  await removeDerivedRows(
    client,
    (pipeline, id) => `(${pipeline}, ${id}) in (select * from unnest($1::text[], $2::text[]))`,
    '$2',
    keys,
  );
}

/**
 * Deletes the rows derived from erased queries, and removes the queries from the examples of topics.
 *
 * @param isErased returns the SQL condition for an erased query, given the columns of the pipeline and of the query id
 * @param ids parameter with the query ids
 */
async function removeDerivedRows(
  client: PoolClient,
  isErased: (pipeline: string, id: string) => string,
  ids: '$1' | '$2',
  values: unknown[],
): Promise<void> {
  for (const [table, column] of derivedTables)
    await client.query(`delete from ${table} where ${isErased('pipeline', column)}`, values);
  await client.query(
    `update uncovered_topics t
        set label = '{}', examples = array(select e.id from unnest(t.examples) with ordinality as e (id, place)
                              where not ${isErased('t.pipeline', 'e.id')} order by place)
      where t.examples && ${ids}::text[]`,
    values,
  );
}

/** Removes the original user query from the other steps in an erased query's episode. */
async function removeOriginalTexts(client: PoolClient, queries: readonly ErasedQuery[]): Promise<void> {
  const ofEpisodes = queries.filter(({ episode }) => episode !== null);
  if (ofEpisodes.length === 0) return;
  await client.query(
    `update live_queries set original_text = null
      where (pipeline, episode) in (select * from unnest($1::text[], $2::text[])) and original_text is not null`,
    columnsOf(ofEpisodes, ['pipeline', 'episode']),
  );
}

const isAny = (_pipeline: string, id: string): string => `(${id} = any($1::text[]))`;

/** Tables with data derived from queries, each with the column that contains the query id. */
const derivedTables = [
  ['density_baseline_queries', 'id'],
  ['isolation_violations', 'query_id'],
  ['shadow_answers', 'query_id'],
  ['pool_judgments', 'query_id'],
  ['judge_panel_pairs', 'query_id'],
  ['judged_queries', 'query_id'],
] as const;

/** Additional time that allows for requests in flight. */
const IN_FLIGHT_MS = HOUR_MS;

/** Erases all data of a subject. The caller must hold the erasure lock. */
export async function eraseLive(client: PoolClient, subject: ErasureSubject, now: Date) {
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
 * Erases data that dates from before an erasure but arrived after it.
 *
 * @param since first day of receipt to search; null: the day of the oldest remembered erasure
 */
export async function eraseLate(pool: Pool, pipelines: readonly string[], since: Date | null, now: Date) {
  return inTransaction(pool, async (client) => {
    await lockInTransaction(client, 'erasure');
    const rows = await queryRows<ErasedSubject>(
      client,
      `select kind, subject, pipeline, erased_at from erased_subjects`,
    );
    const oldest = new Date(Math.min(...rows.map(({ erasedAt }) => erasedAt.getTime()), now.getTime()));
    // Adds a row per pipeline for a query id without a pipeline, so that the index on (pipeline, id) is used.
    const subjects = rows.flatMap((one) =>
      one.kind === 'query' && one.pipeline === '' ? pipelines.map((pipeline) => ({ ...one, pipeline })) : [one],
    );
    const { found, queries, feedback } = await removeErased(client, subjects, daysOf(since ?? oldest, now));
    await remember(client, found);
    return { queries, feedback };
  });
}

/** Deletes the record of an erasure once data from before the erasure is no longer accepted. */
export async function forgetErased(pool: Pool, longestRetentionDays: number, now: Date): Promise<void> {
  const before = new Date(now.getTime() - longestRetentionDays * DAY_MS - IN_FLIGHT_MS);
  await pool.query(`delete from erased_subjects where erased_at < $1::timestamptz`, [before]);
}

/** Returns, for each query, true if it was erased, or if its user was erased after the query occurred. */
export async function areErased(pool: Pool, queries: readonly ErasableQuery[]): Promise<readonly boolean[]> {
  const { rows } = await pool.query<{ is_erased: boolean }>(
    `select exists (select from erased_subjects e
                     where e.kind = 'query' and e.subject = q.id and (e.pipeline = '' or e.pipeline = q.pipeline))
         or exists (select from erased_subjects e
                     where e.kind = 'user' and e.subject = q.user_hash and e.erased_at >= q.occurred_at)
         or exists (select from erased_subjects e
                     where e.kind = 'trace' and e.subject = q.trace_id and q.user_hash is null and e.erased_at >= q.occurred_at)
         or exists (select from erased_subjects e
                     where e.kind = 'episode' and e.subject = q.episode and e.pipeline = q.pipeline and q.user_hash is null
                       and e.erased_at >= q.occurred_at)
            as is_erased
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[]) with ordinality
         as q (pipeline, id, trace_id, episode, user_hash, occurred_at, place)
      order by place`,
    columnsOf(queries, ['pipeline', 'id', 'traceId', 'episode', 'userHash', 'occurredAt']),
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
    columnsOf(subjects, ['kind', 'subject', 'pipeline', 'hash', 'erasedAt']),
  );
}

function daysOf(from: Date, until: Date): string[] {
  const days: string[] = [];
  const last = dayAfter(until, 0);
  for (let ahead = 0; (days.at(-1) ?? '') < last; ahead += 1) days.push(dayAfter(from, ahead));
  return days;
}
