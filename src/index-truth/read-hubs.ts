/** Chunks that come back for far more questions than their share, and chunks drawn from the store that never do. */

import type pg from 'pg';
import { RecalldError } from '../errors.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import { type DeadChunks, deadChunks, type Hub, hubsOf, type ReturnedDocuments } from './rules/hubs.ts';

export interface HubsReport {
  readonly questions: number;
  readonly documents: number;
  /** Null where too few questions were answered to tell. */
  readonly hubs: readonly Hub[] | null;
  /** Null where nothing was drawn, the store cannot be sampled, or its ids are not those of the answers; `why` says which. */
  readonly dead: DeadChunks | null;
  readonly why: string | null;
}

const OTHER_IDS = 'None of the chunks drawn from the store ever came back; the answers seem to have other ids.';

/**
 * @param chunks that are drawn from the store to find dead ones; 0 draws none
 * @throws RecalldError store_unreachable
 */
export async function readHubs(
  returned: ReturnedReads,
  store: VectorStore | null,
  { chunks, ...window }: ReturnedWindow & { readonly chunks: number },
  signal: AbortSignal,
): Promise<HubsReport> {
  const drawn = await drawIds(store, chunks, signal);
  const { back, ...found } = await returned.documents(window, drawn.ids);
  const hubs = hubsOf(found);
  const dead = drawn.why === null && hubs !== null ? deadChunks(drawn.ids, back) : null;
  const why = drawn.why ?? (dead === null ? OTHER_IDS : null);
  return { questions: found.questions, documents: found.documents, hubs, dead, why };
}

async function drawIds(
  store: VectorStore | null,
  n: number,
  signal: AbortSignal,
): Promise<{ readonly ids: readonly string[]; readonly why: string | null }> {
  if (n === 0) return { ids: [], why: 'Nothing was drawn.' };
  if (store === null) return { ids: [], why: 'The config names no vector_store to draw chunks from.' };
  const sample = await store.sample({ n, seed: 1, withContent: false }, signal);
  if (sample.kind === 'unsupported') return { ids: [], why: sample.reason };
  if (sample.kind === 'failed') throw new RecalldError('store_unreachable', sample.message);
  const { ids } = sample.value;
  return { ids, why: ids.length === 0 ? 'The store is empty.' : null };
}

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
