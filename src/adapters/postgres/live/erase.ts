/** Erasure of a person or a query from live queries, feedback, what is held of their traces, and golden sets. */
import type { Pool } from 'pg';
import type { ErasureReport, ErasureSubject } from '../../../ports/live-traffic.ts';
import { eraseGoldenQueries } from '../golden/golden-origins.ts';
import { inTransaction } from '../transaction.ts';

export async function erase(pool: Pool, subject: ErasureSubject, now: Date): Promise<ErasureReport> {
  return inTransaction(pool, async (client) => {
    const [column, value] = subject.kind === 'user' ? ['user_hash', subject.userHash] : ['id', subject.id];
    // First: a trace that is being completed with them right now is waited for here, and then found below.
    const fragments = await client.query<{ trace_id: string }>(
      subject.kind === 'user'
        ? `delete from trace_fragments where user_hash = $1::text returning trace_id`
        : `delete from trace_fragments where trace_id = substring($1::text from '^([0-9a-f]{32})-[0-9a-f]{16}$') returning trace_id`,
      [value],
    );
    const queries = await client.query<{ pipeline: string; id: string; trace_id: string | null }>(
      `delete from live_queries where ${column} = $1::text returning pipeline, id, trace_id`,
      [value],
    );
    await client.query(`delete from trace_fragments where trace_id = any($1::text[])`, [
      [...fragments.rows, ...queries.rows].flatMap((row) => row.trace_id ?? []),
    ]);
    const erased = [queries.rows.map((row) => row.pipeline), queries.rows.map((row) => row.id)];
    await client.query(
      `delete from query_coverage where (pipeline, id) in (select * from unnest($1::text[], $2::text[]))`,
      erased,
    );
    // A baseline outlives its queries, so that theirs are looked for by themselves.
    await client.query(
      `delete from density_baseline_queries
        where (pipeline, id) in (select * from unnest($1::text[], $2::text[])) or ${column} = $3::text`,
      [...erased, value],
    );
    await client.query(
      `update uncovered_topics t
          set examples = array(select e.id from unnest(t.examples) with ordinality as e (id, place)
                                where (t.pipeline, e.id) not in (select * from unnest($1::text[], $2::text[])) order by place)
        where t.examples && $2::text[]`,
      erased,
    );
    // What others said about an erased query goes with it, and what an erased person said goes everywhere.
    const feedback = await client.query(
      `delete from feedback f
        where (f.pipeline, f.query_id) in (select * from unnest($1::text[], $2::text[]))
           or ${subject.kind === 'user' ? 'f.user_hash = $3::text' : 'f.query_id = $3::text or f.judged_id = $3::text'}`,
      [...erased, value],
    );
    const goldenQueries = await eraseGoldenQueries(client, subject, now);
    const report = { queries: queries.rowCount ?? 0, feedback: feedback.rowCount ?? 0, goldenQueries };
    await client.query(
      `insert into erasures (erased_at, subject, subject_hash, queries, feedback, golden_queries)
       values ($1::timestamptz, $2::text, $3::text, $4::integer, $5::integer, $6::integer)`,
      [
        now,
        subject.kind,
        subject.kind === 'user' ? subject.userHash : subject.idHash,
        report.queries,
        report.feedback,
        report.goldenQueries,
      ],
    );
    return report;
  });
}

export async function lastErasures(
  pool: Pool,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const { rows } = await pool.query<{ hash: string; at: Date }>(
    `select subject_hash as hash, max(erased_at) as at from erasures where subject_hash = any($1::text[]) group by 1`,
    [hashes],
  );
  return new Map(rows.map(({ hash, at }) => [hash, at]));
}
