/** The drift panel of a judge in PostgreSQL: fixed query-document pairs that the judge grades again every day. */
import type { Pool } from 'pg';
import { queryRow, queryRows } from '../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../platform/postgres/transaction.ts';
import type { JudgeRequest } from './judge.ts';
import { judgePanelSize, type PanelPair } from './rules/agreement.ts';

export interface JudgePanel {
  /** Fingerprint of the judge, combined with the number of changes that were detected under this fingerprint. */
  readonly identity: string;
  readonly since: Date;
  readonly changedAt: Date | null;
  /** True once today's grades have been compared with the first grades. */
  readonly isCompared: boolean;
}

export interface DuePair extends JudgeRequest {
  readonly queryId: string;
  readonly documentId: string;
}

const columns = `fingerprint || case when changes = 0 then '' else '.' || changes end as identity, changed_at, since, judged_on is not distinct from ($3::timestamptz at time zone 'utc')::date as is_compared`;

const readable = `
  exists (select from judged_queries j join live_queries q on q.received_on = j.received_on and q.pipeline = j.pipeline and q.id = j.query_id
           where j.pipeline = p.pipeline and j.query_id = p.query_id and q.text is not null)
  and exists (select from judged_documents c where c.pipeline = p.pipeline and c.content_hash = p.content_hash)`;

export function createJudgePanelTable(pool: Pool) {
  return {
    /** Today's panel (UTC). A judge with a new fingerprint starts with an empty panel. */
    current: (pipeline: string, fingerprint: string, now: Date): Promise<JudgePanel> =>
      inTransaction(pool, async (client) => {
        await lockInTransaction(client, 'judging', pipeline);
        const known = await queryRow<JudgePanel>(
          client,
          `select ${columns} from judge_panels where pipeline = $1::text and fingerprint = $2::text`,
          [pipeline, fingerprint, now],
        );
        if (known !== null) return known;
        await client.query('delete from judge_panel_pairs where pipeline = $1::text', [pipeline]);
        const begun = await queryRow<JudgePanel>(
          client,
          `insert into judge_panels (pipeline, fingerprint, since) values ($1::text, $2::text, $3::timestamptz)
           on conflict (pipeline) do update
              set fingerprint = excluded.fingerprint, since = excluded.since, changes = 0, changed_at = null, judged_on = null
           returning ${columns}`,
          [pipeline, fingerprint, now],
        );
        if (begun === null) throw new Error('The database returned no judge panel.');
        return begun;
      }),

    /**
     * Deletes pairs whose texts were deleted, and adds pairs graded in the last day: one per query text, regardless of
     * the grade.
     */
    async fill(pipeline: string, identity: string, gradesPerDay: number, now: Date): Promise<void> {
      const { pairs, newPairs } = judgePanelSize(gradesPerDay);
      await inTransaction(pool, async (client) => {
        await lockInTransaction(client, 'judging', pipeline);
        await client.query(`delete from judge_panel_pairs p where pipeline = $1::text and not (${readable})`, [
          pipeline,
        ]);
        // Reads the texts of all panel pairs in a single subquery. Otherwise, PostgreSQL might plan one text lookup per
        // grade if its statistics were stale, and each lookup would read all panel texts.
        await client.query(
          `with today as (select ($3::timestamptz at time zone 'utc')::date as day),
                places as (select least($4::integer - count(*), $5::integer - count(*) filter (where joined_on = day)) as free
                             from judge_panel_pairs, today where pipeline = $1::text),
                candidates as (
                  select distinct on (text_hash) query_id, document_id, content_hash, coalesce(grade, 0) as grade,
                         md5(text_hash || content_hash) as place
                    from judgments
                   where pipeline = $1::text and judge = 'model' and fingerprint = $2::text
                     and judged_at > $3::timestamptz - interval '1 day' and content_hash is not null
                     and text_hash not in (select o.text_hash
                                             from judge_panel_pairs p join judgments o using (pipeline, query_id, document_id)
                                            where p.pipeline = $1::text and o.judge = 'model' and o.text_hash is not null)
                   order by text_hash, md5(content_hash || query_id))
           insert into judge_panel_pairs (pipeline, query_id, document_id, content_hash, joined_on, first_grade, grade, graded_on)
           select $1::text, query_id, document_id, content_hash, day, grade, grade, day from candidates, today
            order by place limit (select greatest(0, free) from places)
           on conflict do nothing`,
          [pipeline, identity, now, pairs, newPairs],
        );
      });
    },

    /** Leases the next pair that has not been graded today; null if there is none. */
    claim: (pipeline: string, now: Date, leaseUntil: Date): Promise<DuePair | null> =>
      queryRow(
        pool,
        `with next as (
           select pipeline, query_id, document_id from judge_panel_pairs
            where pipeline = $1::text and graded_on < ($2::timestamptz at time zone 'utc')::date
              and (leased_until is null or leased_until <= $2::timestamptz)
            order by query_id limit 1 for update skip locked)
         update judge_panel_pairs p set leased_until = $3::timestamptz
           from next n, judged_queries j, live_queries q, judged_documents c
          where (p.pipeline, p.query_id, p.document_id) = (n.pipeline, n.query_id, n.document_id)
            and (j.pipeline, j.query_id) = (p.pipeline, p.query_id)
            and q.received_on = j.received_on and q.pipeline = j.pipeline and q.id = j.query_id
            and c.pipeline = p.pipeline and c.content_hash = p.content_hash
         returning p.query_id, p.document_id, q.text as query, c.content as document`,
        [pipeline, now, leaseUntil],
      ),

    /**
     * Stores today's grade of a pair (0 if the judge gave none) and ends the lease. If the grade is null, only ends the
     * lease.
     */
    async record(pipeline: string, pair: DuePair, grade: number | null, now: Date): Promise<void> {
      await pool.query(
        `update judge_panel_pairs
            set leased_until = null, grade = coalesce($4::smallint, grade), repeat_grade = coalesce(repeat_grade, $4::smallint),
                graded_on = case when $4::smallint is null then graded_on else ($5::timestamptz at time zone 'utc')::date end
          where (pipeline, query_id, document_id) = ($1::text, $2::text, $3::text)`,
        [pipeline, pair.queryId, pair.documentId, grade, now],
      );
    },

    /** Returns the pairs with today's grades; null while a grade is missing. */
    async gradedToday(pipeline: string, now: Date): Promise<PanelPair[] | null> {
      const rows = await queryRows<PanelPair & { readonly isOpen: boolean }>(
        pool,
        `select first_grade as first, repeat_grade as repeat, grade as now, graded_on < day as is_open
           from judge_panel_pairs, (select ($2::timestamptz at time zone 'utc')::date as day) as today
          where pipeline = $1::text and joined_on < day`,
        [pipeline, now],
      );
      return rows.some(({ isOpen }) => isOpen)
        ? null
        : rows.map(({ first, repeat, now: last }) => ({ first, repeat, now: last }));
    },

    /**
     * Records that today's grades have been compared with the first grades. If the judge has changed, today's grades
     * become the first grades of the new judge.
     */
    finalizeDay: (pipeline: string, hasChanged: boolean, now: Date): Promise<void> =>
      inTransaction(pool, async (client) => {
        const { rowCount } = await client.query(
          `update judge_panels
              set judged_on = ($2::timestamptz at time zone 'utc')::date,
                  changes = changes + $3::integer,
                  changed_at = case when $3::integer = 1 then $2::timestamptz else changed_at end,
                  since = case when $3::integer = 1 then $2::timestamptz else since end
            where pipeline = $1::text and judged_on is distinct from ($2::timestamptz at time zone 'utc')::date`,
          [pipeline, now, hasChanged ? 1 : 0],
        );
        if (rowCount === 0 || !hasChanged) return;
        await client.query(
          `update judge_panel_pairs set first_grade = grade, repeat_grade = null, joined_on = ($2::timestamptz at time zone 'utc')::date
            where pipeline = $1::text`,
          [pipeline, now],
        );
      }),
  };
}
