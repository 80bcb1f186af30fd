import type { Pool, PoolClient } from 'pg';
import type { Scope } from '../core/context.ts';
import { toDocument } from '../core/text/names.ts';
import { recordActs } from '../platform/access/audit-log.ts';
import { queryRow, queryRows } from '../platform/postgres/rows.ts';
import { inTransaction } from '../platform/postgres/transaction.ts';
import { bytesOfNumbers, numbersOfBytes } from '../platform/postgres/values.ts';
import { visible } from '../platform/postgres/visible.ts';
import {
  type KnownTopic,
  type SeenTopic,
  type TopicState,
  type TopicWindow,
  topicName,
  type UncoveredTopic,
} from './rules/uncovered-topic.ts';

export interface TopicSearch {
  readonly pipeline: string;
  /** Start of the period of the live queries, inclusive. */
  readonly from: Date;
  /** End of the period, exclusive. */
  readonly until: Date;
  readonly baselineVersion: number;
  readonly sessions: number;
  /** Data that was missing for the search; null if the search was possible. */
  readonly lacking: 'window_tail' | 'baseline_tail' | 'baseline_sample' | null;
}

type TopicRow = Omit<UncoveredTopic, 'centroid'> & { readonly centroid: Buffer };

/**
 * Columns that each search replaces. Except for `last_seen`, their names are the field names of `SeenTopic` in snake
 * case.
 */
const seenColumns = `label, centroid, cause, last_seen, sessions, traffic_share, share_low, share_high, excess_points,
  density, adjusted_p, dominant_region, examples, nearest, segments, lost_chunks, judged_queries, relevant_share`;

const topicColumns = `id, pipeline, state, first_seen, changed_at, note, ${seenColumns.replace('last_seen', 'last_seen as "windowEnd"')}`;

/**
 * True if a closed topic has reappeared: the search period starts no earlier than the time when the topic was closed or
 * last seen, whichever came first. Queries from before that time cannot reopen the topic.
 */
const isBack = `known.state = 'closed' and least(known.changed_at, known.last_seen) <= $2::timestamptz`;

const upsert = `
  insert into uncovered_topics as known (id, pipeline, state, first_seen, ${seenColumns})
  select id, pipeline, 'open', last_seen, ${seenColumns} from jsonb_populate_record(null::uncovered_topics, $1::jsonb)
  on conflict (id) do update
    set state = case when ${isBack} then 'open' else known.state end,
        changed_at = case when ${isBack} then excluded.last_seen else known.changed_at end,
        note = case when ${isBack} then 'Seen again.' else known.note end,
        (${seenColumns}) = (${seenColumns.replaceAll(/\w+/g, 'excluded.$&')})
  where excluded.last_seen > known.last_seen`;

export function topicsTable(pool: Pool, scope: Scope = null) {
  const seen = scope?.pipelines ?? null;
  return {
    /**
     * Returns the topics that are not part of another topic. A search matches the topics that it finds with these
     * topics.
     */
    async known(pipeline: string): Promise<readonly KnownTopic[]> {
      const rows = await queryRows<{ id: string; centroid: Buffer }>(
        pool,
        'select id, centroid from uncovered_topics where pipeline = $1::text and part_of is null',
        [pipeline],
      );
      return rows.map(({ id, centroid }) => ({ id, centroid: numbersOfBytes(centroid) }));
    },

    /** Latest search of every pipeline, with the number of topics that are not closed. */
    latestSearches: () =>
      queryRows<TopicSearch & { readonly unclosed: number }>(
        pool,
        `select l.pipeline, l.window_start as "from", l.window_end as until, l.baseline_version,
                l.sessions, l.lacking,
                (select count(*) from uncovered_topics t
                  where t.pipeline = l.pipeline and t.state <> 'closed')::integer as unclosed
           from uncovered_topic_searches l where ${visible('l.pipeline', 1)} order by l.pipeline`,
        [seen],
      ),

    /**
     * Stores a search and its topics atomically. A closed topic reopens if it is found in a period that starts no
     * earlier than the time when the topic was closed or last seen, whichever came first. An open topic that is now
     * part of another topic is closed permanently.
     *
     * @param showed `parts` maps the id of a topic to the id of the topic that it is now part of
     * @param after end of the previous search; null for the first search
     * @returns false, without storing anything, if another worker stored a search first
     */
    record: (
      search: TopicSearch,
      { seen, parts }: { readonly seen: readonly SeenTopic[]; readonly parts: ReadonlyMap<string, string> },
      after: Date | null,
    ): Promise<boolean> => inTransaction(pool, (client) => record(client, search, seen, parts, after)),

    /**
     * Closes open and acknowledged topics that were last seen before `before`.
     *
     * @returns the number of closed topics
     */
    async closeUnseen(pipeline: string, before: Date, now: Date): Promise<number> {
      const { rowCount } = await pool.query(
        `update uncovered_topics set state = 'closed', changed_at = $3::timestamptz, note = 'No longer seen.'
          where pipeline = $1::text and state <> 'closed' and last_seen < $2::timestamptz`,
        [pipeline, before, now],
      );
      return rowCount ?? 0;
    },

    /** Topics, largest excess first. */
    async list(wanted: {
      readonly pipeline?: string | undefined;
      readonly states: readonly TopicState[];
      readonly limit: number;
    }): Promise<readonly UncoveredTopic[]> {
      const rows = await queryRows<TopicRow>(
        pool,
        `select ${topicColumns} from uncovered_topics
          where ($1::text is null or pipeline = $1::text) and state = any($2::text[])
            and ${visible('pipeline', 4)}
          order by excess_points desc, id limit $3::integer`,
        [wanted.pipeline ?? null, [...wanted.states], wanted.limit, seen],
      );
      return rows.map(toTopic);
    },

    async find(id: string): Promise<UncoveredTopic | null> {
      const row = await queryRow<TopicRow>(
        pool,
        `select ${topicColumns} from uncovered_topics where id = $1::text and ${visible('pipeline', 2)}`,
        [id, seen],
      );
      return row && toTopic(row);
    },

    /** Returns the current names of topics (see `topicName`), keyed by topic id. */
    async names(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      if (ids.length === 0) return new Map();
      const rows = await queryRows<{ id: string; label: readonly string[] }>(
        pool,
        'select id, label from uncovered_topics where id = any($1::text[])',
        [ids],
      );
      return new Map(rows.map((row) => [row.id, topicName(row)]));
    },

    /**
     * Returns the number of judged queries, and the weighted mean of their shares of documents with grade 2 or 3.
     * Human judgments replace model judgments; failed judgments count as 0.
     */
    async judged(pipeline: string, ids: readonly string[]) {
      const row = await queryRow<{ judgedQueries: number; relevantShare: number | null }>(
        pool,
        `select count(*)::integer as "judgedQueries", sum(relevant / probability) / sum(1 / probability) as "relevantShare"
           from (select j.query_id, j.probability, avg((coalesce(p.grade, m.grade, 0) >= 2)::integer)::double precision as relevant
                   from judged_queries j cross join jsonb_array_elements(j.documents) d
                   left join judgments m on (m.pipeline, m.query_id, m.document_id, m.judge) = (j.pipeline, j.query_id, d ->> 0, 'model')
                   left join judgments p on (p.pipeline, p.query_id, p.document_id, p.judge) = (j.pipeline, j.query_id, d ->> 0, 'person')
                  where j.pipeline = $1::text and j.query_id = any($2::text[]) and j.state = 'graded'
                    and (m.query_id is not null or p.query_id is not null)
                  group by j.query_id, j.probability) as queries`,
        [pipeline, ids],
      );
      return row ?? { judgedQueries: 0, relevantShare: null };
    },

    /** Windows of a topic, oldest first. */
    windows: (id: string): Promise<readonly TopicWindow[]> =>
      queryRows(
        pool,
        `select window_end, sessions, traffic_share, excess_points, density
           from uncovered_topic_windows where topic_id = $1::text order by window_end`,
        [id],
      ),

    /** Returns false if the topic does not exist. */
    setState: (id: string, state: TopicState, note: string | null, by: string, now: Date): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const known = await queryRow<{ pipeline: string; state: TopicState }>(
          client,
          `select pipeline, state from uncovered_topics where id = $1::text and ${visible('pipeline', 2)} for update`,
          [id, seen],
        );
        if (known === null) return false;
        await client.query(
          `update uncovered_topics set state = $2::text, note = $3::text, changed_at = $4::timestamptz where id = $1::text`,
          [id, state, note, now],
        );
        const { pipeline, ...before } = known;
        const act = 'change_topic' as const;
        await recordActs(client, [{ at: now, by, act, pipeline, subject: id, before, after: { state } }]);
        return true;
      }),

    /**
     * Returns the stored texts of live queries, keyed by id: the original text if known, otherwise the text of the
     * query.
     */
    async texts(pipeline: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const rows = await queryRows<{ id: string; text: string }>(
        pool,
        `select id, coalesce(original_text, text) as text from live_queries
          where pipeline = $1::text and id = any($2::text[]) and coalesce(original_text, text) is not null`,
        [pipeline, [...ids]],
      );
      return new Map(rows.map(({ id, text }) => [id, text]));
    },
  };
}

export type TopicsTable = ReturnType<typeof topicsTable>;

async function record(
  client: PoolClient,
  search: TopicSearch,
  seen: readonly SeenTopic[],
  parts: ReadonlyMap<string, string>,
  after: Date | null,
): Promise<boolean> {
  if (!(await isTaken(client, search, after))) return false;
  for (const topic of seen) {
    await client.query(upsert, [JSON.stringify(rowOf(topic)), search.from]);
    await client.query(
      `insert into uncovered_topic_windows (topic_id, window_end, sessions, traffic_share, excess_points, density)
       values ($1::text, $2::timestamptz, $3::integer, $4::double precision, $5::double precision, $6::double precision)
       on conflict do nothing`,
      [topic.id, topic.windowEnd, topic.sessions, topic.trafficShare, topic.excessPoints, topic.density],
    );
  }
  // Closes a topic that is now part of another topic only if the topic is open; an acknowledged topic keeps its state.
  await client.query(
    `update uncovered_topics t
        set state = 'closed', part_of = p.whole, changed_at = $3::timestamptz, note = 'Part of ' || p.whole || '.'
       from unnest($1::text[], $2::text[]) as p (id, whole)
      where t.id = p.id and t.state = 'open'`,
    [[...parts.keys()], [...parts.values()], search.until],
  );
  return true;
}

/**
 * Writes the row of the search; returns false if another worker stored a search first. Because the row is written
 * before the topics, a second worker waits until the first worker commits, and then finds the row.
 */
async function isTaken(client: PoolClient, search: TopicSearch, after: Date | null): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into uncovered_topic_searches as latest
       (pipeline, window_start, window_end, baseline_version, sessions, lacking)
     values ($1::text, $2::timestamptz, $3::timestamptz, $4::integer, $5::integer, $6::text)
     on conflict (pipeline) do update
       set window_start = excluded.window_start, window_end = excluded.window_end,
           baseline_version = excluded.baseline_version, sessions = excluded.sessions, lacking = excluded.lacking
     where latest.window_end = $7::timestamptz`,
    [search.pipeline, search.from, search.until, search.baselineVersion, search.sessions, search.lacking, after],
  );
  return rowCount === 1;
}

function rowOf({ centroid, windowEnd, ...topic }: SeenTopic) {
  return toDocument({ ...topic, lastSeen: windowEnd, centroid: `\\x${bytesOfNumbers(centroid).toString('hex')}` });
}

function toTopic(row: TopicRow): UncoveredTopic {
  return { ...row, centroid: numbersOfBytes(row.centroid) };
}
