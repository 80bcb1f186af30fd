/** The rows of erased people, queries and traces: what there is when they are erased, and what comes late. */
import type { PoolClient } from 'pg';
import { columnsOf } from '../../postgres/values.ts';

export interface ErasedSubject {
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
export type LateDays = readonly string[] | null;

export interface RemovedRows {
  /** The queries, and the traces of people: what is said about them later is to go as well. */
  readonly found: readonly ErasedSubject[];
  readonly queries: number;
  readonly feedback: number;
}

interface QueryRow {
  received_on: string;
  pipeline: string;
  id: string;
  trace_id: string | null;
  erased_at: Date;
}

const ofUser = 'r.user_hash = e.subject and r.occurred_at <= e.until';
/** What nobody else said in the trace of a person, they said. */
const ofTrace = 'r.trace_id = e.subject and r.user_hash is null and r.occurred_at <= e.until';
const ofId = (column: string, hasPipeline: boolean) =>
  `r.${column} = e.subject${hasPipeline ? ' and r.pipeline = e.pipeline' : ''}`;

/** In the order that waits for a trace that is being completed with a person right now, and then finds it. */
export async function removeErased(
  client: PoolClient,
  subjects: readonly ErasedSubject[],
  late: LateDays,
): Promise<RemovedRows> {
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
  const newIds = queries.map(
    ({ id, pipeline, erased_at: erasedAt }): ErasedSubject => ({
      kind: 'query',
      subject: id,
      pipeline,
      erasedAt,
    }),
  );
  let feedback = await removeFeedback(client, ofUser, users, late);
  feedback += await removeFeedback(client, ofTrace, traces, late);
  for (const column of ['query_id', 'judged_id']) {
    feedback += await removeFeedback(client, ofId(column, late !== null), ids, late);
    // Of whatever day: it may have come before its query.
    feedback += await removeFeedback(client, ofId(column, true), newIds, null);
  }
  return { found: [...newIds, ...newTraces], queries: queries.length, feedback };
}

type Found = Pick<QueryRow, 'trace_id' | 'erased_at'>;

function traceOf({ trace_id: subject, erased_at: erasedAt }: Found): ErasedSubject[] {
  return subject === null ? [] : [{ kind: 'trace', subject, pipeline: '', erasedAt }];
}

/** OpenTelemetry has the trace in the id of its queries. */
function traceToldBy({ subject, erasedAt }: ErasedSubject): ErasedSubject[] {
  const [, trace = null] = /^([0-9a-f]{32})-[0-9a-f]{16}$/.exec(subject) ?? [];
  return traceOf({ trace_id: trace, erased_at: erasedAt });
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
): Promise<QueryRow[]> {
  if (subjects.length === 0) return [];
  const { rows } = await client.query<QueryRow>(
    `delete from live_queries r using ${erased}
      where ${condition} ${onDays(late)}
     returning r.received_on::text, r.pipeline, r.id, r.trace_id, e.erased_at`,
    valuesOf(subjects, late),
  );
  return rows;
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
  const { rows } = await client.query<Found>(
    `delete from trace_fragments r using ${erased}
      where r.user_hash = e.subject and to_timestamp(r.ended_at_unix_nano / 1000000000) <= e.until
     returning r.trace_id, e.erased_at`,
    valuesOf(users, late).slice(0, 4),
  );
  return rows;
}

async function removeFragments(client: PoolClient, traces: readonly ErasedSubject[]): Promise<void> {
  if (traces.length === 0) return;
  await client.query(`delete from trace_fragments where trace_id = any($1::text[])`, [
    traces.map(({ subject }) => subject),
  ]);
}

/** A baseline outlives its queries, and a topic shows some of them. */
async function removeWhatWasMadeOf(client: PoolClient, queries: readonly QueryRow[]): Promise<void> {
  if (queries.length === 0) return;
  const keys = columnsOf(queries, [({ pipeline }) => pipeline, ({ id }) => id]);
  await client.query(
    `delete from query_coverage
      where (received_on, pipeline, id) in (select * from unnest($1::date[], $2::text[], $3::text[]))`,
    [queries.map((row) => row.received_on), ...keys],
  );
  await client.query(
    `delete from density_baseline_queries where (pipeline, id) in (select * from unnest($1::text[], $2::text[]))`,
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
