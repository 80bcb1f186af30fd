import type { Pool } from 'pg';
import type { QueryOutcome } from '../../core/model.ts';
import type { TimeSpan } from '../../core/time.ts';
import { namingOutage } from '../../platform/postgres/outage.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import type { EpisodeRetrieval } from '../rules/episodes.ts';
import type { Click, ShownQuery } from '../rules/feedback/click-rates.ts';
import type { OpinionCounts } from '../rules/feedback/sentiment.ts';
import type { SampledQuery } from '../rules/live-measures.ts';
import type { LiveQuery, LiveStage } from '../rules/live-query.ts';
import type { Arrivals } from '../rules/sampling/estimate.ts';
import type { SampledStep } from '../rules/sampling/whole-episode.ts';

const BATCH_ROWS = 2000;
/** Maximum number of steps that are read from an episode. */
const MAX_STEPS = 50;
/** Number of most recent steps in which the longest episodes are searched for. */
const SEARCHED_STEPS = 20_000;
/** Maximum length of the texts that are read, in characters. Longer texts are truncated for measures and pages. */
const MAX_TEXT = 2000;

/**
 * Returns SQL for the first day (UTC) on which recalld may have received rows that occurred at or after the time in
 * `since`. Rows are partitioned by day of receipt. PostgreSQL skips earlier partitions only if the expression is
 * immutable: subtraction from a `timestamp` is immutable, but subtraction from a `timestamptz` is not. The sender's
 * clock may be up to an hour ahead, so a row that occurred just after midnight by this clock may have been received the
 * day before.
 */
export function firstDayOf(since: `$${number}`): string {
  return `(${since}::timestamptz at time zone 'utc' - interval '1 hour')::date`;
}

const windowSql = `pipeline = $1::text and occurred_at >= $2::timestamptz and occurred_at < $3::timestamptz
        and received_on >= ${firstDayOf('$2')}`;

const documentIds = `array(select e.document ->> 0 from jsonb_array_elements(results) with ordinality e (document, rank)
  order by e.rank) as document_ids`;

const stepColumns = `id, episode, episode_step as step, occurred_at, received_at, left(text, ${MAX_TEXT}) as text,
  left(original_text, ${MAX_TEXT}) as original_text,
  ${documentIds}, outcome, segments, unit_hash as cluster, rate_probability, level,
  probability / case keep_reason when 'rate' then rate_probability else 1 end as upstream_probability`;

export function createLiveWindows(pool: Pool) {
  const read = <Row extends object>(sql: string, values: readonly unknown[]): Promise<Row[]> =>
    namingOutage(pool, () => queryRows<Row>(pool, sql, values));
  /**
   * Yields the samples in a window in order of occurrence, in batches. A retry after several days is stored as a second
   * row with the same id and time; only the first row counts.
   *
   * @param condition SQL with the parameter `$4`, which is `factor`
   */
  async function* inBatches<Row extends { readonly id: string; readonly occurredAt: Date }>(
    columns: string,
    { pipeline, from, until }: LiveWindow,
    condition: string,
    factor: number,
  ): AsyncGenerator<readonly Row[]> {
    let last: Row | undefined;
    do {
      const rows: Row[] = await read<Row>(
        `select distinct on (occurred_at, id) ${columns}
           from live_queries
          where ${windowSql} and ${condition}
            and ($5::timestamptz is null or (occurred_at, id) > ($5::timestamptz, $6::text))
          order by occurred_at, id, received_on
          limit ${BATCH_ROWS}`,
        [pipeline, from, until, factor, last?.occurredAt ?? null, last?.id ?? null],
      );
      if (rows.length > 0) yield rows;
      last = rows.length < BATCH_ROWS ? undefined : rows.at(-1);
    } while (last !== undefined);
  }
  return {
    /** Returns the number of samples in the window, and the number of those that belong to an episode. */
    async count({ pipeline, from, until }: LiveWindow): Promise<{ readonly samples: number; readonly steps: number }> {
      const [row] = await read<{ samples: number; steps: number }>(
        `select count(*)::integer as samples, count(episode)::integer as steps from live_queries where ${windowSql}`,
        [pipeline, from, until],
      );
      return row ?? { samples: 0, steps: 0 };
    },

    /**
     * Yields, in batches and in order of occurrence, the samples in the window that belong to episodes. Skips samples
     * that were selected by a rule but not by the random number of their episode, because the other steps of the
     * episode are missing.
     *
     * @param halvings as for `queries`
     */
    steps: (window: LiveWindow, halvings: number): AsyncIterable<readonly WindowStep[]> =>
      inBatches<WindowStep>(
        stepColumns,
        window,
        'episode is not null and unit_hash < rate_probability * $4::double precision',
        2 ** -halvings,
      ),

    /** Returns the highest sampling level of each minute of receipt (minutes since 1970); omits minutes at level 0. */
    async levels({ pipeline, from, until }: LiveWindow): Promise<ReadonlyMap<number, number>> {
      const rows = await read<{ minute: number; level: number }>(
        `select floor(extract(epoch from received_at) / 60)::integer as minute, max(level)::integer as level
           from live_queries where ${windowSql} and level > 0 group by 1`,
        [pipeline, from, until],
      );
      return new Map(rows.map(({ minute, level }) => [minute, level]));
    },

    /**
     * Returns the steps of the longest episodes in the window; each has at least two steps. Only the latest steps are
     * searched, so that reading a month takes no longer than reading a day.
     */
    longestEpisodes({ pipeline, from, until }: LiveWindow, limit: number): Promise<readonly WindowStep[]> {
      const sampled = `${windowSql} and episode is not null and unit_hash < rate_probability`;
      return read<WindowStep>(
        `with latest as (
           select episode from live_queries where ${sampled} order by occurred_at desc limit ${SEARCHED_STEPS}
         ), longest as (
           select episode from latest group by episode having count(*) > 1 order by count(*) desc limit $4::integer)
         select s.* from longest l
          cross join lateral (
            select distinct on (occurred_at, id) ${stepColumns} from live_queries where ${sampled} and episode = l.episode
             order by occurred_at, id, received_on limit ${MAX_STEPS}) s`,
        [pipeline, from, until, limit],
      );
    },

    /** Returns the exact and estimated numbers of received queries by outcome. Ignores upstream sampling. */
    async arrivals({ pipeline, from, until }: LiveWindow): Promise<Readonly<Partial<Record<QueryOutcome, Arrivals>>>> {
      const rows = await read<Arrivals & { outcome: QueryOutcome }>(
        `with counted as (
           select outcome, sum(queries)::double precision as counted from live_query_counts
            where pipeline = $1::text and minute >= $2::timestamptz and minute < $3::timestamptz group by outcome
         ), sampled as (
           select outcome, sum(1 / case keep_reason when 'rate' then rate_probability else 1 end) as estimated
             from live_queries
            where pipeline = $1::text and received_at >= $2::timestamptz and received_at < $3::timestamptz
              and received_on >= ($2::timestamptz at time zone 'utc')::date
            group by outcome
         )
         select outcome, coalesce(counted, 0) as counted, coalesce(estimated, 0) as estimated
           from counted full join sampled using (outcome)`,
        [pipeline, from, until],
      );
      return Object.fromEntries(rows.map(({ outcome, ...arrivals }) => [outcome, arrivals]));
    },

    /** Returns the share of the most frequent text among samples that have a text or a text hash. */
    async topQuery({ pipeline, from, until }: LiveWindow) {
      const [row] = await read<{ share: number; repeated: number; queries: number; sessions: number }>(
        `with texts as (
           select coalesce(text_hash, md5(lower(text))) as hash, 1 / probability as weight, unit_hash from live_queries
            where ${windowSql} and coalesce(text_hash, text) is not null
         ), sums as (select sum(weight) as weight from texts group by hash),
         repeats as (select sum(weight) * (count(*) - 1) / count(*) as weight from texts group by unit_hash, hash)
         select (select coalesce(max(weight) / sum(weight), 0) from sums) as share,
                coalesce((select sum(weight) from repeats) / (select sum(weight) from sums), 0) as repeated,
                (select count(*) from texts)::integer as queries,
                (select count(distinct unit_hash) from texts)::integer as sessions`,
        [pipeline, from, until],
      );
      return row ?? { share: 0, repeated: 0, queries: 0, sessions: 0 };
    },

    /** Returns the 95th percentile of the reported latencies in milliseconds; null if none are reported. */
    async latency95({ pipeline, from, until }: LiveWindow) {
      const [row] = await read<{ ms: number | null; n: number }>(
        `select percentile_disc(0.95) within group (order by latency_ms) as ms, count(latency_ms)::integer as n
           from live_queries where ${windowSql} and outcome in ('ok', 'empty')`,
        [pipeline, from, until],
      );
      return row === undefined || row.ms === null ? null : { ms: row.ms, n: row.n };
    },

    /**
     * Returns at most `limit` texts from randomly selected sessions; none if only hashes of texts are stored. Reads a
     * sample only if the rate alone would have selected it, so that the texts are representative of all queries: rules
     * select additional queries, such as those that failed or returned nothing.
     */
    texts({ pipeline, from, until }: LiveWindow, limit: number) {
      return read<{ readonly text: string; readonly probability: number; readonly cluster: number }>(
        `select text, probability * case keep_reason when 'rate' then 1 else rate_probability end as probability,
                unit_hash as cluster
           from live_queries
          where ${windowSql} and text is not null and unit_hash < rate_probability
          order by unit_hash, id limit $4::integer`,
        [pipeline, from, until, limit],
      );
    },

    /**
     * Yields the samples in the window in order of occurrence, in batches.
     *
     * @param halvings number of times to halve the sampling probability. Reads a sample only if the random number of
     * its session is below 2^-halvings times the probability of the rate or, for a sample that a rule selected, below
     * 2^-halvings. The halved rate would have selected the same sessions, and `probability` is adjusted, so that
     * estimates stay unbiased. With 0 halvings, all samples are read.
     */
    async *queries(window: LiveWindow, halvings: number): AsyncIterable<readonly WindowQuery[]> {
      const factor = 2 ** -halvings;
      const rows = inBatches<Omit<WindowQuery, 'stages'> & { readonly stages: readonly LiveStage[] | null }>(
        `id, occurred_at, unit_hash as cluster, probability, rate_probability, outcome, segments, ${documentIds}, latency_ms,
         stages, case when context_repeated is not null
                      then jsonb_build_object('characters', context_characters, 'repeated', context_repeated) end as context`,
        window,
        `unit_hash < $4::double precision * case keep_reason when 'rate' then rate_probability else 1 end`,
        factor,
      );
      for await (const batch of rows)
        yield batch.map((row) => ({ ...row, probability: row.probability * factor, stages: row.stages ?? none }));
    },

    /** Returns the clicks on these queries that are within the caps and were received since `firstDayOf(since)`. */
    async clicks(pipeline: string, queryIds: readonly string[], since: Date): Promise<readonly Click[]> {
      return read<Click>(
        `select query_id, document_id, rank, occurred_at from feedback
          where pipeline = $1::text and query_id = any($2::text[]) and kind = 'click' and counted
            and received_on >= ${firstDayOf('$3')}
          order by occurred_at, id`,
        [pipeline, [...queryIds], since],
      );
    },

    /**
     * Returns the documents that the answers to these queries cite. Reads citations received since `firstDayOf(since)`.
     */
    async citations(pipeline: string, queryIds: readonly string[], since: Date) {
      return read<{ readonly queryId: string; readonly documentId: string }>(
        `select distinct query_id, document_id from feedback
          where pipeline = $1::text and query_id = any($2::text[]) and kind = 'citation'
            and received_on >= ${firstDayOf('$3')}`,
        [pipeline, [...queryIds], since],
      );
    },

    async hasClicks(pipeline: string, since: Date): Promise<boolean> {
      const rows = await read(
        `select 1 from feedback
          where pipeline = $1::text and kind = 'click' and counted
            and received_on >= ${firstDayOf('$2')}
          limit 1`,
        [pipeline, since],
      );
      return rows.length > 0;
    },

    /**
     * Counts the opinions on these queries that are within the caps (see `OpinionTally`), from feedback received since
     * `firstDayOf(since)`. Omits clicks.
     */
    async opinions(
      pipeline: string,
      queryIds: readonly string[],
      since: Date,
    ): Promise<ReadonlyMap<string, OpinionCounts>> {
      const rows = await read<OpinionCounts & { queryId: string }>(
        `with opinions as (
           select query_id, bool_or(counted) as is_counted,
                  (array_agg(sentiment order by occurred_at desc, received_at desc, id collate "C" desc))[1] as sentiment
             from feedback
            where pipeline = $1::text and query_id = any($2::text[]) and kind <> 'click'
              and received_on >= ${firstDayOf('$3')}
            group by query_id, kind, document_id, case when document_id is null then rank end, user_hash
         )
         select query_id, (count(*) filter (where sentiment = 'positive'))::integer as positive,
                (count(*) filter (where sentiment = 'negative'))::integer as negative
           from opinions where is_counted group by query_id`,
        [pipeline, [...queryIds], since],
      );
      return new Map(rows.map(({ queryId, positive, negative }) => [queryId, { positive, negative }]));
    },
  };
}

const none: readonly LiveStage[] = [];

/** Range of the times of occurrence. */
export interface LiveWindow extends TimeSpan {
  readonly pipeline: string;
}

type InSegments = Pick<LiveQuery, 'segments'>;

/**
 * A sampled query, with the data that measures of live traffic need. `cluster` is the random number drawn for the
 * sample's session.
 */
export interface WindowQuery
  extends ShownQuery,
    Pick<SampledQuery, 'outcome' | 'context' | 'stages' | 'latencyMs'>,
    InSegments {
  /** Sampling probability that results from the rate and the level alone (see `SamplingDecision`). */
  readonly rateProbability: number;
}

/** A sample that belongs to an episode. `cluster` is the random number drawn for the episode's sampling unit. */
export interface WindowStep extends EpisodeRetrieval, SampledStep, InSegments {
  readonly episode: string;
}

/** Every method may reject with RecalldError database_unreachable. */
export type LiveWindows = ReturnType<typeof createLiveWindows>;
