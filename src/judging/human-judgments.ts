/** Human judgments in PostgreSQL: one per selected document, and a second, independent judgment for some documents. */
import type { Pool } from 'pg';
import { recordActs } from '../platform/access/audit-log.ts';
import { queryRows } from '../platform/postgres/rows.ts';
import { inTransaction } from '../platform/postgres/transaction.ts';
import { columnsOf } from '../platform/postgres/values.ts';

export interface HumanJudgment {
  readonly queryId: string;
  readonly documentId: string;
  readonly grade: number | null;
}

export interface Grader {
  readonly by: string;
  /** Id that distinguishes this person from other reviewers. */
  readonly person: string;
}

/**
 * Joins each new judgment `g` with its query `j`, if the query was selected for judging and has the judged document.
 */
const givenOf = (columns: string): string => `
  unnest(${columns}) with ordinality as g (query_id, document_id, grade, place)
  join judged_queries j on j.pipeline = $1::text and j.query_id = g.query_id
   and exists (select from jsonb_array_elements(j.documents) d where d ->> 0 = g.document_id)`;

export function humanJudgments(pool: Pool) {
  return {
    /**
     * Stores a person's judgments. A later grade replaces an earlier grade, and a null grade withdraws it. If a query needs
     * two people, the stored judgment of another person is not replaced: the new judgment is stored as the second judgment.
     *
     * @returns for each judgment, true if the query was selected with the judged document, and false if the judgment was
     *   ignored
     */
    recordHumanJudgments(pipeline: string, grades: readonly HumanJudgment[], { by, person }: Grader, now: Date) {
      const columns = columnsOf(grades, [
        ({ queryId }) => queryId,
        ({ documentId }) => documentId,
        ({ grade }) => grade,
      ]);
      return inTransaction(pool, async (client) => {
        const { rows } = await client.query<{ place: number }>(
          `select g.place::integer from ${givenOf('$2::text[], $3::text[], $4::smallint[]')}`,
          [pipeline, ...columns],
        );
        const known = new Set(rows.map(({ place }) => place));
        const earlier = await queryRows<HumanJudgment>(
          client,
          `delete from judgments p using ${givenOf('$2::text[], $3::text[], $4::smallint[]')}
            where p.pipeline = $1::text and p.query_id = g.query_id and p.document_id = g.document_id
              and p.judge in ('person', 'second') and (not j.needs_second_human or p.graded_by = $5::text)
            returning p.query_id, p.document_id, p.grade`,
          [pipeline, ...columns, person],
        );
        // A second judgment exists only if there is a first judgment.
        await client.query(
          `update judgments s set judge = 'person'
            where s.pipeline = $1::text and s.judge = 'second'
              and (s.query_id, s.document_id) in (select * from unnest($2::text[], $3::text[]))
              and not exists (select from judgments p where (p.pipeline, p.query_id, p.document_id, p.judge)
                                                          = (s.pipeline, s.query_id, s.document_id, 'person'))`,
          [pipeline, ...columns.slice(0, 2)],
        );
        await client.query(
          `insert into judgments (pipeline, query_id, document_id, judge, grade, graded_by, judged_at)
           select distinct on (g.query_id, g.document_id) $1::text, g.query_id, g.document_id,
                  case when exists (select from judgments p where (p.pipeline, p.query_id, p.document_id, p.judge)
                                                                = ($1::text, g.query_id, g.document_id, 'person'))
                       then 'second' else 'person' end,
                  g.grade, $5::text, $6::timestamptz
             from ${givenOf('$2::text[], $3::text[], $4::smallint[]')}
            where g.grade is not null
            order by g.query_id, g.document_id, g.place desc
           on conflict (pipeline, query_id, document_id, judge) do update
              set grade = excluded.grade, graded_by = excluded.graded_by, judged_at = excluded.judged_at`,
          [pipeline, ...columns, person, now],
        );
        const gradeBefore = new Map(earlier.map((one) => [JSON.stringify([one.queryId, one.documentId]), one.grade]));
        await recordActs(
          client,
          grades
            .filter((_, index) => known.has(index + 1))
            .map(({ queryId, documentId: subject, grade }) => ({
              at: now,
              by,
              act: 'judge',
              pipeline,
              subject,
              before: gradeOf(gradeBefore.get(JSON.stringify([queryId, subject])) ?? null),
              after: gradeOf(grade),
            })),
        );
        return grades.map((_, index) => known.has(index + 1));
      });
    },
  };
}

const gradeOf = (grade: number | null) => (grade === null ? null : { grade });
