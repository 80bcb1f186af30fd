import type { Pool } from 'pg';
import type { QueryOutcome } from '../../core/model.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { dayAfter } from '../../platform/postgres/partitions.ts';
import { inTransaction, orDenied } from '../../platform/postgres/transaction.ts';
import { binaryArray, bytesOfVector, columnsOf } from '../../platform/postgres/values.ts';
import type { PersonalData } from '../privacy/personal-data.ts';
import type { LiveQuery, LiveStage } from '../rules/live-query.ts';
import { type Columns, countColumns, type IsolationArrival, isolationSql, violationColumns } from './isolation-rows.ts';
import { resultsJson } from './result-rows.ts';

/** A stored sample: text redacted, user and session hashed, with its inclusion probability. */
export interface LiveSample
  extends Pick<
      LiveQuery,
      'pipeline' | 'id' | 'traceId' | 'embedding' | 'topK' | 'results' | 'context' | 'latencyMs' | 'stages' | 'segments'
    >,
    Awaited<ReturnType<PersonalData['toPrivateQuery']>> {
  readonly receivedAt: Date;
  readonly occurredAt: Date;
  /** Id of the agent turn; null if the query belongs to none. */
  readonly episode: string | null;
  readonly episodeStep: number | null;
  readonly outcome: QueryOutcome;
  readonly indexVersion: string | null;
  readonly embedderVersion: string | null;
  readonly retrieverVersion: string | null;
  /** Inclusion probability; its inverse is the weight in estimates. */
  readonly probability: number;
  readonly keepReason: string;
  // The next three fields are needed to close the minute.
  /** Random number drawn for the sampling unit. */
  readonly unitHash: number;
  /** Sampling probability. */
  readonly rateProbability: number;
  /** Sampling level when the query arrived. */
  readonly level: number;
}

/** Number of live queries with one outcome in a minute, sampled or not. */
export interface ArrivalCount {
  readonly pipeline: string;
  readonly minute: Date;
  readonly outcome: QueryOutcome;
  readonly queries: number;
}

/** Sampling level of a minute: the number of times that this replica has halved the sampling rate so far. */
export interface MinuteLevel {
  readonly pipeline: string;
  readonly minute: Date;
  readonly level: number;
}

export interface Arrival {
  readonly samples: readonly LiveSample[];
  readonly counts: readonly ArrivalCount[];
  readonly levels: readonly MinuteLevel[];
  /** Results of the isolation rules; absent if no rule was evaluated. */
  readonly isolation?: IsolationArrival | undefined;
}

export function stagesJson(stages: readonly LiveStage[]): string | null {
  return stages.length === 0 ? null : JSON.stringify(stages);
}

const sampleColumns: Columns<LiveSample> = [
  ['received_on', 'date', (s) => s.receivedAt],
  ['pipeline', 'text', (s) => s.pipeline],
  ['id', 'text', (s) => s.id],
  ['received_at', 'timestamptz', (s) => s.receivedAt],
  ['occurred_at', 'timestamptz', (s) => s.occurredAt],
  ['session_hash', 'text', (s) => s.sessionHash],
  ['trace_id', 'text', (s) => s.traceId],
  ['episode', 'text', (s) => s.episode],
  ['episode_step', 'integer', (s) => s.episodeStep],
  ['original_text', 'text', (s) => s.originalText],
  ['text', 'text', (s) => s.text],
  ['text_hash', 'text', (s) => s.textHash],
  ['embedding', 'bytea', (s) => (s.embedding === null ? null : bytesOfVector(s.embedding))],
  ['dimensions', 'integer', (s) => s.embedding?.length ?? null],
  ['top_k', 'integer', (s) => s.topK],
  ['outcome', 'text', (s) => s.outcome],
  ['error', 'text', (s) => s.error],
  ['results', 'text', (s) => resultsJson(s.results)],
  ['context_characters', 'integer', (s) => s.context?.characters ?? null],
  ['context_repeated', 'double precision', (s) => s.context?.repeated ?? null],
  ['latency_ms', 'double precision', (s) => s.latencyMs],
  ['stages', 'text', (s) => stagesJson(s.stages)],
  ['segments', 'text', (s) => JSON.stringify(s.segments)],
  ['user_hash', 'text', (s) => s.userHash],
  ['index_version', 'text', (s) => s.indexVersion],
  ['embedder_version', 'text', (s) => s.embedderVersion],
  ['retriever_version', 'text', (s) => s.retrieverVersion],
  ['probability', 'double precision', (s) => s.probability],
  ['keep_reason', 'text', (s) => s.keepReason],
  ['unit_hash', 'double precision', (s) => s.unitHash],
  ['rate_probability', 'double precision', (s) => s.rateProbability],
  ['level', 'smallint', (s) => s.level],
];

const jsonColumns = new Set(['results', 'stages', 'segments']);
const names = sampleColumns.map(([name]) => name).join(', ');
const arrays = sampleColumns.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ');
const values = sampleColumns.map(([name]) => (jsonColumns.has(name) ? `s.${name}::jsonb` : `s.${name}`));
const next = (offset: number): string => `$${sampleColumns.length + offset}`;

/**
 * Counts and levels are sorted by key, so that concurrent statements lock rows in the same order and cannot deadlock.
 * The inserted keys are returned only in the rare case that some rows were not inserted.
 */
const recordSql = (withIsolation: boolean): string => `
  with inserted as (
    insert into live_queries (${names})
    select ${values.join(', ')}
      from unnest(${arrays}) as s (${names})
     where not exists (select 1 from live_queries y
                        where y.received_on = s.received_on - 1 and y.pipeline = s.pipeline and y.id = s.id)
    on conflict (received_on, pipeline, id) do nothing
    returning pipeline, id, received_at, outcome
  ), counted as (
    insert into live_query_counts (pipeline, minute, outcome, queries)
    select pipeline, minute, outcome, sum(queries)
      from (select * from unnest(${next(1)}::text[], ${next(2)}::timestamptz[], ${next(3)}::text[], ${next(4)}::bigint[])
                       as c (pipeline, minute, outcome, queries)
            union all
            select pipeline, date_trunc('minute', received_at), outcome, 1 from inserted where ${next(5)}::boolean) all_of_them
     group by pipeline, minute, outcome
    having sum(queries) <> 0
     order by pipeline, minute, outcome
    on conflict (pipeline, minute, outcome) do update set queries = live_query_counts.queries + excluded.queries
  ), leveled as (
    insert into sampling_minutes (pipeline, minute, replica, level)
    select pipeline, minute, ${next(6)}::text, level
      from unnest(${next(7)}::text[], ${next(8)}::timestamptz[], ${next(9)}::smallint[]) as l (pipeline, minute, level)
     order by pipeline, minute
    on conflict (pipeline, minute, replica) do update set level = excluded.level
     where sampling_minutes.level < excluded.level
  )${withIsolation ? `, ${isolationSql((place) => next(11 + place))}` : ''}
  select (select jsonb_agg(jsonb_build_object('pipeline', pipeline, 'id', id)) from inserted) as keys${
    withIsolation
      ? `,
         (select jsonb_agg(jsonb_build_object('pipeline', pipeline, 'id', rule || chr(31) || query_id)) from violated) as violations`
      : ''
  }
   where (select count(*) from inserted) <> ${next(10)}::bigint${
     withIsolation ? ` or (select count(*) from violated) <> ${next(11)}::bigint` : ''
}`;

/**
 * The first statement omits isolation rules, because most pipelines have none and should not pay for them.
 */
const statements = [
  { name: 'record-arrivals', text: recordSql(false) },
  { name: 'record-isolated-arrivals', text: recordSql(true) },
] as const;

export type RecordedArrival = Awaited<ReturnType<typeof recordArrivals>>[number];

/**
 * Stores arrivals and their samples, except samples whose (pipeline, id) was stored today or yesterday.
 *
 * @param replica owner of the sampling levels
 * @param countsSamples true if `counts` include the samples; a sample that is already stored is then not counted again
 * @returns which samples and violations of each arrival are new; among duplicates, only the first row is new
 */
export async function recordArrivals(
  pool: Pool,
  arrivals: readonly Arrival[],
  replica: string,
  countsSamples: boolean,
) {
  const samples = arrivals.flatMap((arrival) => arrival.samples);
  const counts = arrivals.flatMap((arrival) => arrival.counts);
  const isolations = arrivals.flatMap(({ isolation }) => isolation ?? []);
  const violations = isolations.flatMap((one) => one.violations);
  const { rows } = await orDenied(
    pool.query<{ keys: RowKey[] | null; violations?: RowKey[] | null }>({
      ...statements[isolations.length === 0 ? 0 : 1],
      values: [
        ...sampleColumns.map(([, type, read]) => binaryArray(type, samples.map(read))),
        ...columnsOf(sumCounts(counts, countsSamples ? samples : []), ['pipeline', 'minute', 'outcome', 'queries']),
        countsSamples,
        replica,
        ...columnsOf(highestLevels(arrivals.flatMap(({ levels }) => levels)), ['pipeline', 'minute', 'level']),
        samples.length,
        ...(isolations.length === 0 ? [] : isolationValues(isolations, violations)),
      ],
    }),
  );
  const [notAll] = rows;
  const newOf = (sent: readonly RowKey[], inserted: readonly RowKey[] | null | undefined): boolean[] =>
    notAll === undefined ? sent.map(() => true) : areNew(sent, inserted ?? []);
  const isNew = newOf(samples, notAll?.keys);
  const violationKeys = violations.map(({ pipeline, rule, queryId: id }) => ({ pipeline, id: `${rule}\u001f${id}` }));
  const isNewViolation = newOf(violationKeys, notAll?.violations);
  // The probabilities can be raised in a separate statement: if it fails, the client resends the samples and the
  // statement runs again.
  await raiseProbabilities(
    pool,
    samples.filter((_, position) => isNew[position] !== true),
  );
  let [position, violation] = [0, 0];
  return arrivals.map((arrival) => ({
    isNew: arrival.samples.map(() => isNew[position++] === true),
    isNewViolation: (arrival.isolation?.violations ?? []).map(() => isNewViolation[violation++] === true),
  }));
}

function isolationValues(
  isolations: readonly IsolationArrival[],
  violations: IsolationArrival['violations'],
): unknown[] {
  const counts = isolations.flatMap((one) => one.counts);
  return [
    violations.length,
    ...violationColumns.map(([, type, read]) => binaryArray(type, violations.map(read))),
    ...countColumns.map(([, type, read]) => binaryArray(type, counts.map(read))),
  ];
}

/** Sums counts by key and subtracts the samples, which are counted from the inserted rows instead. */
function sumCounts(counts: readonly ArrivalCount[], samples: readonly LiveSample[]): ArrivalCount[] {
  type Sum = { -readonly [Key in keyof ArrivalCount]: ArrivalCount[Key] };
  const sums = new Map<string, Sum>();
  let last: Sum | undefined;
  let lastMs = Number.NaN;
  const add = ({ pipeline, outcome }: ArrivalCount | LiveSample, minuteMs: number, queries: number): void => {
    // Fast path: most items have the same key as the previous item.
    if (last === undefined || minuteMs !== lastMs || outcome !== last.outcome || pipeline !== last.pipeline) {
      const key = `${minuteMs} ${outcome} ${pipeline}`;
      last = sums.get(key) ?? { pipeline, outcome, minute: new Date(minuteMs), queries: 0 };
      lastMs = minuteMs;
      sums.set(key, last);
    }
    last.queries += queries;
  };
  for (const count of counts) add(count, count.minute.getTime(), count.queries);
  for (const sample of samples) {
    add(sample, Math.floor(sample.receivedAt.getTime() / MINUTE_MS) * MINUTE_MS, -1);
  }
  return [...sums.values()].filter(({ queries }) => queries !== 0);
}

function highestLevels(levels: readonly MinuteLevel[]): MinuteLevel[] {
  const highest = new Map<string, MinuteLevel>();
  let last: MinuteLevel | undefined;
  for (const one of levels) {
    if (last?.pipeline === one.pipeline && last.level === one.level && last.minute.getTime() === one.minute.getTime())
      continue;
    const key = `${one.minute.getTime()} ${one.pipeline}`;
    if (one.level >= (highest.get(key)?.level ?? 0)) highest.set(key, one);
    last = one;
  }
  return [...highest.values()];
}

/**
 * Raises the inclusion probability of today's samples; ignores missing and erased samples. A retry in a minute with a
 * lower sampling level gives a query a second chance to be sampled. Therefore, the sample gets the larger inclusion
 * probability, and moves to the minute in which the query had this probability.
 */
export async function raiseProbabilities(pool: Pool, samples: readonly LiveSample[]): Promise<void> {
  if (samples.length === 0) return;
  await orDenied(
    pool.query(
      `update live_queries l
        set received_at = s.received_at, probability = s.probability, keep_reason = s.keep_reason,
            rate_probability = s.rate_probability, level = s.level
       from (select distinct on (received_on, pipeline, id) *
               from unnest($1::date[], $2::text[], $3::text[], $4::timestamptz[], $5::double precision[], $6::text[],
                           $7::double precision[], $8::smallint[])
                 as t (received_on, pipeline, id, received_at, probability, keep_reason, rate_probability, level)
              order by received_on, pipeline, id, probability desc) s
      where l.received_on = s.received_on and l.pipeline = s.pipeline and l.id = s.id and l.probability < s.probability`,
      [
        samples.map(({ receivedAt }) => dayAfter(receivedAt, 0)),
        ...columnsOf(samples, [
          'pipeline',
          'id',
          'receivedAt',
          'probability',
          'keepReason',
          'rateProbability',
          'level',
        ]),
      ],
    ),
  );
}

/** Key of a live query or feedback item; unique within the days on which retries are possible. */
export interface RowKey {
  readonly pipeline: string;
  readonly id: string;
}

/** Returns, for each sent row, true if it was inserted; among duplicates, only the first can be true. */
export function areNew(sent: readonly RowKey[], inserted: readonly RowKey[]): boolean[] {
  const fresh = new Set(inserted.map(keyOf));
  return sent.map((row) => fresh.delete(keyOf(row)));
}

/** Joins the parts of a key with a separator that PostgreSQL text values cannot contain. */
function keyOf({ pipeline, id }: RowKey): string {
  return `${pipeline}\0${id}`;
}

/**
 * Closes the open minutes before `before`: the highest level among the replicas applies to the whole minute. Deletes
 * samples that only a higher rate selected, and stores the final probability of the remaining samples. Halving is exact
 * in binary, so closing in two steps produces the same numbers as closing in one.
 *
 * @returns the number of deleted samples
 */
export async function closeMinutes(pool: Pool, before: Date): Promise<number> {
  return inTransaction(pool, async (client) => {
    const { rows: minutes } = await client.query<{ pipeline: string; minute: Date; level: number }>(
      `with closed as (
         update sampling_minutes set closed_at = clock_timestamp()
          where minute < $1::timestamptz and closed_at is null
          returning pipeline, minute)
       select pipeline, minute, max(level)::integer as level
         from sampling_minutes join (select distinct pipeline, minute from closed) c using (pipeline, minute)
        group by pipeline, minute`,
      [before],
    );
    let dropped = 0;
    for (const { pipeline, minute, level } of minutes) {
      const range = [pipeline, minute, level];
      const { rowCount } = await client.query(
        `delete from live_queries
          where pipeline = $1::text and received_on = ($2::timestamptz at time zone 'utc')::date
            and received_at >= $2::timestamptz and received_at < $2::timestamptz + interval '1 minute'
            and keep_reason = 'rate' and level < $3::integer
            and unit_hash >= rate_probability * power(2::double precision, level - $3::integer)`,
        range,
      );
      dropped += rowCount ?? 0;
      await client.query(
        `update live_queries
            set probability = case when keep_reason = 'rate' then probability * power(2::double precision, level - $3::integer) else probability end,
                rate_probability = rate_probability * power(2::double precision, level - $3::integer),
                level = $3::integer
          where pipeline = $1::text and received_on = ($2::timestamptz at time zone 'utc')::date
            and received_at >= $2::timestamptz and received_at < $2::timestamptz + interval '1 minute'
            and level < $3::integer`,
        range,
      );
    }
    return dropped;
  });
}
