/** Finds topics of live queries with negative feedback, and documents that users with similar queries liked. */

import type { Pool } from 'pg';
import type { Context } from '../core/context.ts';
import type { QueryOutcome } from '../core/model.ts';
import { matrixOf } from '../math/vector/matrix.ts';
import { queryRows } from '../platform/postgres/rows.ts';
import { vectorOfBytes } from '../platform/postgres/values.ts';
import type { RatedQuery } from './rules/complaint-topics.ts';
import { distinctExamples, isOneByLabel, labelTopic } from './rules/topic-description.ts';

/** Maximum number of queries in each of two groups: with and without negative feedback. */
const MAX_QUERIES = 2000;
const MAX_DOCUMENTS = 3;

export type NamedComplaint = Extract<Awaited<ReturnType<typeof findComplaints>>, { kind: 'topics' }>['topics'][number];

/** Searches a pipeline's sampled live queries that have a vector. Stores nothing. */
export async function findComplaints({ reads, compute }: Context, pipeline: string, since: Date, signal: AbortSignal) {
  const table = reads.density.complaints;
  const read = await table.rated(pipeline, since, MAX_QUERIES);
  const dimensions = read[0]?.vector.length ?? 0;
  const usable = read.filter(({ vector }) => vector.length === dimensions);
  const queries = usable.map(({ id, session, day, isNegative }) => ({ id, session, day, isNegative }));
  const vectors = matrixOf(usable.map(({ vector }) => vector));
  const found = await compute.run('findComplaints', { queries, vectors }, signal);
  if (found.kind === 'insufficient_data') return found;
  const ids = queries.map(({ id }) => id);
  const known = await table.queries(pipeline, since, found.topics.length === 0 ? [] : ids);
  const textOf = (id: string): string[] => {
    const query = known.get(id);
    const text = query?.originalText ?? query?.text ?? null;
    return text === null ? [] : [text];
  };
  const topics = [];
  for (const topic of found.topics) {
    const own = new Set(topic.members);
    const texts = topic.members.flatMap(textOf);
    const others = ids.flatMap((id) => (own.has(id) ? [] : textOf(id)));
    const label = labelTopic(texts, others);
    if (topic.subjects !== 'one' && !isOneByLabel(texts, label)) continue;
    const members = topic.members.flatMap((id) => known.get(id) ?? []);
    const textsById = new Map(members.flatMap(({ id }) => textOf(id).map((text) => [id, text] as const)));
    topics.push({
      ...topic,
      /** Distinctive words of the topic; empty if texts are not stored. */
      label,
      shown: distinctExamples(topic.examples, topic.members, textsById).flatMap((id) => known.get(id) ?? []),
      failed: members.filter(({ outcome }) => outcome === 'error' || outcome === 'timeout').length,
      empty: members.filter(({ outcome }) => outcome === 'empty').length,
      /** Documents that users with similar queries clicked or rated positively, most liked first. */
      liked: await table.liked(pipeline, since, topic.alike, MAX_DOCUMENTS),
    });
  }
  return { ...found, topics };
}

export interface ComplaintQuery {
  readonly id: string;
  /** Query text; null if texts are not stored. */
  readonly text: string | null;
  /** The user's query before an agent rewrote it; null if unknown or not stored. */
  readonly originalText: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly topK: number | null;
  readonly outcome: QueryOutcome;
  /** Best first. */
  readonly documentIds: readonly string[];
}

/**
 * SQL for the first day of receipt. A join repeats the condition on this day for each table, because PostgreSQL would
 * otherwise consider every partition of the second table.
 */
const receivedSince = (since: `$${number}`): string => `(${since}::timestamptz at time zone 'utc')::date`;
const coverageOfQuery = `c.received_on = q.received_on and c.pipeline = q.pipeline and c.id = q.id
              and c.received_on >= ${receivedSince('$2')}`;

const vectorSql = 'case when c.from_text then c.embedding else coalesce(q.embedding, c.embedding) end';

export function complaintsTable(pool: Pool) {
  return {
    /**
     * Selects up to `most` random queries with negative feedback and up to `most` without it. Considers only queries
     * that have a vector. Weights each query by the number of queries that it represents (Efraimidis and Spirakis 2006;
     * a hash of the id serves as the random number).
     */
    async rated(
      pipeline: string,
      since: Date,
      most: number,
    ): Promise<readonly (RatedQuery & { readonly vector: Float32Array })[]> {
      const rows = await queryRows<RatedQuery & { readonly vector: Buffer }>(
        pool,
        `with negative as (
           select distinct query_id from feedback
            where pipeline = $1::text and received_on >= ${receivedSince('$2')}
              and sentiment = 'negative' and counted),
         rated as (
           select q.received_on, q.id, q.session_hash as session,
                  to_char(q.occurred_at at time zone 'utc', 'YYYY-MM-DD') as day, n.query_id is not null as "isNegative",
                  row_number() over (
                    partition by n.query_id is not null
                    order by -ln((mod(hashtextextended(q.id, 0) & x'7fffffffffffffff'::bigint, 1000000) + 1) / 1000001.0)
                             * q.probability, q.id) as place
             from live_queries q left join negative n on n.query_id = q.id
             left join query_coverage c on ${coverageOfQuery}
            where q.pipeline = $1::text and q.received_at >= $2::timestamptz
              and q.received_on >= ${receivedSince('$2')} and ${vectorSql} is not null)
         select r.id, r.session, r.day, r."isNegative", ${vectorSql} as vector
           from rated r
           join live_queries q on q.received_on = r.received_on and q.pipeline = $1::text and q.id = r.id
            and q.received_on >= ${receivedSince('$2')}
           left join query_coverage c on ${coverageOfQuery}
          where r.place <= $3::integer order by r.received_on desc, r.id`,
        [pipeline, since, most],
      );
      return rows.map(({ vector, ...query }) => ({ ...query, vector: vectorOfBytes(vector) }));
    },

    /** Returns queries by id; omits deleted queries. */
    async queries(pipeline: string, since: Date, ids: readonly string[]): Promise<ReadonlyMap<string, ComplaintQuery>> {
      const rows = await queryRows<ComplaintQuery>(
        pool,
        `select id, text, original_text, segments as tags, top_k, outcome,
                array(select e.document ->> 0 from jsonb_array_elements(results) with ordinality e (document, rank)
                       order by e.rank) as "documentIds"
           from live_queries
          where pipeline = $1::text and id = any($2::text[]) and received_on >= ${receivedSince('$3')}`,
        [pipeline, [...ids], since],
      );
      return new Map(rows.map((row) => [row.id, row]));
    },

    /**
     * Returns the documents that users clicked or rated positively in the results of these queries, most liked first.
     */
    async liked(pipeline: string, since: Date, ids: readonly string[], most: number): Promise<readonly string[]> {
      const rows = await queryRows<{ readonly documentId: string }>(
        pool,
        `select document_id from feedback
          where pipeline = $1::text and query_id = any($2::text[]) and sentiment = 'positive' and counted
            and document_id is not null and received_on >= ${receivedSince('$3')}
          group by document_id order by count(distinct query_id) desc, document_id limit $4::integer`,
        [pipeline, [...ids], since, most],
      );
      return rows.map(({ documentId }) => documentId);
    },
  };
}
