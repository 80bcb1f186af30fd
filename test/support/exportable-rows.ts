/**
 * At least one row for each table that `recalld export` exports. The values are hard to export: formulas, quotes,
 * nulls, and extremes.
 */
import type { Pool } from 'pg';
import { createMonths, createPartitions } from '../../src/platform/postgres/partitions.ts';

/** Two days (UTC) with rows. */
export const exportDays = ['2026-11-19', '2026-11-20'] as const;

/** Text of the user `eve`, who may be erased. */
export const eveText = 'eve asked this';

const statements = [
  `insert into live_queries (received_on, pipeline, id, received_at, occurred_at, session_hash, trace_id, text, text_hash,
     top_k, outcome, error, results, latency_ms, segments, user_hash, index_version, probability, keep_reason, unit_hash,
     rate_probability, level)
   values
   ('2026-11-20', 'docs', 'q1', '2026-11-20T10:00:00.123456Z', '2026-11-20T09:59:59.999999Z', 's1', null,
    E'=cmd|\\'/c calc\\'!A0, "quoted"\\nsecond line', null, 10, 'ok', null,
    '[["d1", 0.1, {"region": "eu"}], ["-d2", null], ["d3", 1e-300]]', 12.5, '{"tenant": "acme, \\"inc\\""}', 'hash-bob', 'v1',
    0.1, 'draw', 0.5, 0.1, 0),
   ('2026-11-20', 'docs', 'q2', '2026-11-20T11:00:00Z', '2026-11-20T11:00:00Z', 's2', null, '', null, null, 'empty', null,
    '[]', null, '{}', null, null, 1, 'zero_results', 0.5, 1, 0),
   ('2026-11-20', 'docs', 'q3', '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', 's3', null, '${eveText}', null, null, 'ok', null,
    '[["d1", 0.2]]', 1, '{}', 'hash-eve', null, 1, 'draw', 0.5, 1, 0),
   ('2026-11-19', 'other', 'q1', '2026-11-19T23:59:59.999999Z', '2026-11-19T23:59:59Z', 's4', 'trace', '@sum ü 漢字', null,
    5, 'error', 'timeout of eve@example.org', '[]', null, '{}', null, null, 1, 'error', 0.5, 1, 0)`,
  `update live_queries set episode = 'turn-1', episode_step = 2, original_text = '${eveText}' where id = 'q3'`,
  `insert into feedback (received_on, pipeline, id, received_at, occurred_at, query_id, kind, sentiment, value, document_id,
     rank, user_hash, comment, counted)
   values ('2026-11-20', 'docs', 'f1', '2026-11-20T10:01:00Z', '2026-11-20T10:01:00Z', 'q1', 'thumb', 'negative', -1, 'd1', 1,
     'hash-eve', E'\\tno, wrong', true),
    ('2026-11-20', 'docs', 'f2', '2026-11-20T10:02:00Z', '2026-11-20T10:02:00Z', 'q1', 'click', 'positive', null, null, null,
     null, null, false)`,
  `insert into live_query_counts values ('docs', '2026-11-20T10:00:00Z', 'ok', 9007199254740993), ('other', '2026-11-19T10:00:00Z', 'error', 3)`,
  `insert into isolation_violations (received_on, pipeline, rule, query_id, received_at, occurred_at, segment, documents,
     document_count, user_hash)
   values ('2026-11-20', 'docs', 'tenants', 'q3', '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', 'acme', '[["x/1", 1]]', 1, 'hash-eve')`,
  `insert into judged_queries (pipeline, query_id, received_on, received_at, cluster, outcome, segments, probability,
     human_draw, needs_human, documents, state, due_at)
   values ('docs', 'q3', '2026-11-20', '2026-11-20T12:00:00Z', 0.5, 'ok', '{}', 0.05, 0.1, false, '[["d1", null]]', 'graded', '2026-11-20T12:00:00Z')`,
  `insert into judgments (pipeline, query_id, document_id, judge, grade, judged_at, fingerprint)
   values ('docs', 'q3', 'd1', 'model', 3, '2026-11-20T13:00:00Z', 'model v1')`,
  `insert into measurements (pipeline, measure, segment, window_start, window_end, measured_at, value, ci_low, ci_high, ci_method, n, details)
   values ('docs', 'ndcg@10', 'all', '2026-11-20T00:00:00Z', '2026-11-20T01:00:00Z', '2026-11-20T01:00:01Z', 0.1, 0.30000000000000004, 1, 't', 100, '{}'),
          ('docs', 'latency', 'tenant=a', '2026-11-20T00:00:00Z', '2026-11-20T01:00:00Z', '2026-11-20T01:00:01Z', -0.5, null, null, null, 0, '{}')`,
  `insert into golden_sets (name, version, content_hash, format, imported_at, queries, judgments) values ('faq', 1, 'x', 'csv', '2026-11-20T00:00:00Z', 1, 1)`,
  `insert into golden_runs (id, pipeline, golden_set, golden_set_version, trigger, settings, status, started_at, deadline_at, finished_at)
   values ('run1', 'docs', 'faq', 1, 'manual', '{}', 'completed', '2026-11-20T08:00:00Z', '2026-11-20T09:00:00Z', '2026-11-20T08:01:00Z')`,
  `insert into golden_run_scores values ('run1', 'all', 'ndcg', 10, 0.8, 2, 0.7, 0.9, 't')`,
  `insert into golden_run_answers (run_id, query_id, outcome, document_ids, scores, latency_ms, attempts, error_code, answered_at)
   values ('run1', 'g1', 'ok', '{d1,d2}', '{0.9,0.8}', 3.5, 1, null, '2026-11-20T08:00:30Z'),
          ('run1', 'g2', 'error', '{}', '{}', null, 3, 'http_error', '2026-11-20T08:00:31Z')`,
  `insert into check_transitions (pipeline, check_name, severity, from_verdict, to_verdict, occurred_at, threshold, value, explanation)
   values ('docs', 'ndcg@10', 'critical', 'ok', 'critical', '2026-11-20T08:02:00Z', 0.7, 0.55, 'nDCG@10 0.55, below 0.7')`,
  `insert into incidents (pipeline, opened_at, severity, evaluated_at, timeline) values ('docs', '2026-11-20T08:02:00Z', 'critical', '2026-11-20T08:03:00Z', '[]')`,
  `insert into diagnoses (diagnosed_at, cause, confidence, probability, summary, alerts, findings, incident_id)
   select '2026-11-20T08:03:00Z', 'missing_documents', 'high', 0.99, 'Documents are missing.', '{ndcg@10}', '{}', id from incidents`,
  `insert into deployments (pipeline, kind, version, note, source, occurred_at, recorded_at, changes)
   values ('docs', 'index', '2026-11-20', '+1 shard', 'annotated', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z', '{"shards": [1, 2]}')`,
];

export async function storeExportableRows(pool: Pool): Promise<void> {
  for (const day of exportDays) await createPartitions(pool, new Date(day));
  await createMonths(pool, [new Date(exportDays[0])]);
  for (const statement of statements) await pool.query(statement);
}
