/** What live answers and the latest golden runs brought. */
import type pg from 'pg';
import type { ReturnedDocuments } from './rules/hubs.ts';

export interface ReturnedWindow {
  readonly pipeline: string;
  readonly since: Date;
  /** Places of an answer that are looked at. */
  readonly k: number;
  /** The newest live queries that are read at most. */
  readonly most: number;
}

/** More would be no hubs. */
const MAX_DOCUMENTS = 200;
const EXAMPLES = 3;

export type ReturnedReads = ReturnType<typeof createReturnedReads>;

export function createReturnedReads(pool: pg.Pool) {
  return {
    /**
     * Questions are told apart by their text, or its hash where no text is kept. Of golden sets the latest complete run
     * of each counts, whenever it was.
     *
     * @param ids which of these came back is told beside it
     */
    async documents(
      { pipeline, since, k, most }: ReturnedWindow,
      ids: readonly string[],
    ): Promise<ReturnedDocuments & { readonly back: ReadonlySet<string> }> {
      const { rows } = await pool.query<ReturnedDocuments & { back: readonly string[] }>(
        `with live as (
           select distinct on (question) question, id, text, results
             from (select coalesce(text, text_hash, id) as question, id, text, results
                     from live_queries
                    where pipeline = $1::text and received_on >= ($2::timestamptz at time zone 'UTC')::date
                      and received_at >= $2::timestamptz and outcome = 'ok'
                    order by received_at desc limit $5::integer) newest
            order by question, id
         ), runs as (
           select distinct on (golden_set) id, golden_set
             from golden_runs
            where pipeline = $1::text and purpose = 'full' and status = 'completed'
            order by golden_set, started_at desc
         ), asked as (
           select coalesce(text, id) as shown,
                  array(select distinct found.value ->> 0
                          from jsonb_array_elements(results) with ordinality as found (value, place)
                         where place <= $3::integer) as documents
             from live
           union all
           select runs.golden_set || ' ' || query_id, array(select distinct unnest(document_ids[1:$3::integer]))
             from golden_run_answers join runs on runs.id = run_id
            where outcome = 'ok'
         ), counted as (
           select document as id, count(*)::integer as questions, (array_agg(shown order by shown))[1:${EXAMPLES}] as examples
             from asked, unnest(documents) as document
            group by document
         )
         select (select count(*)::integer from asked) as questions,
                (select count(*)::integer from counted) as documents,
                (select coalesce(sum(questions), 0)::integer from counted) as places,
                (select coalesce(json_agg(most), '[]')
                   from (select * from counted order by questions desc, id limit ${MAX_DOCUMENTS}) most) as top,
                array(select id from counted where id = any($4::text[])) as back`,
        [pipeline, since, k, ids, most],
      );
      const { back = [], ...found } = rows[0] ?? { questions: 0, documents: 0, places: 0, top: [] };
      return { ...found, back: new Set(back) };
    },
  };
}
