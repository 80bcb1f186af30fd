/**
 * Erases a user whose data is in exported files and in every table that can contain user data, and checks that none of
 * the user's data remains.
 */
import path from 'node:path';
import type { Client } from 'pg';
import { expect, it } from 'vitest';
import { startJobs } from '../support/installation.ts';
import { aDatabase, aFolder, embeddedConnection, startRecalld } from '../support/recalld.ts';
import { everyFile, everyRow } from '../support/stored-data.ts';
import { waitFor } from '../support/wait-for.ts';

const config = `
server: {port: 0}
log: {level: debug}
export: {cron: "0 0 1 1 *", to: exported, format: jsonl}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: 1}
    privacy: {text: keep}
`;

const query = {
  id: 'canary-query',
  pipeline: 'docs',
  occurred_at: new Date().toISOString(),
  text: 'canary-text',
  session_id: 'canary-session',
  trace_id: 'canary-trace',
  user_id: 'canary-user',
  results: [{ id: 'd1', score: 0.5 }],
};
const feedback = {
  id: 'canary-feedback',
  query_id: 'canary-query',
  pipeline: 'docs',
  kind: 'thumb',
  value: 'down',
  user_id: 'canary-user',
  comment: 'canary-comment',
};

/** Statements that insert rows with canaries into the tables that recalld derives from live queries. */
const derived = [
  `insert into query_coverage (received_on, pipeline, id, status, attempts, thinning, nearest, reason)
   select received_on, pipeline, id, 'not_measurable', 1, 1, '[]', 'canary-reason' from live_queries on conflict do nothing`,
  `insert into density_baselines values ('docs', 1, now(), 'first', 'page', '{}', '')`,
  `insert into density_baseline_queries (pipeline, version, role, id, user_hash, session, score, surprise, nearest, vector)
   select pipeline, 1, 'tail', id, user_hash, 'canary-session', 0, 0, '[]', '' from live_queries`,
  `insert into uncovered_topics (id, pipeline, state, label, centroid, cause, first_seen, last_seen, sessions, traffic_share,
     share_low, share_high, excess_points, density, adjusted_p, dominant_region, examples, nearest, segments)
   values ('t-0123456789', 'docs', 'open', '{canary-word}', '', 'new_demand', now(), now(), 1, 0, 0, 0, 0, 0, 0, 0,
     '{canary-query,another}', '[]', '[]')`,
  `insert into judged_queries (pipeline, query_id, received_on, received_at, cluster, outcome, segments, probability,
     human_draw, needs_human, documents, state, due_at)
   select pipeline, id, received_on, received_at, 0.5, 'ok', '{"tenant": "canary-segment"}', 1, 0.5, false, '[["d1", null]]', 'graded', now()
     from live_queries`,
  `insert into judgments (pipeline, query_id, document_id, judge, grade, text_hash, judged_at)
   values ('docs', 'canary-query', 'd1', 'model', 3, 'canary-hash', now())`,
  `insert into judgment_pools (pipeline, query_id, probability, state, due_at) values ('docs', 'canary-query', 1, 'open', now())`,
  `insert into pool_judgments values ('docs', 'canary-query', 'canary-hash', 'content', 'model', 3, false, now())`,
  `insert into judge_panel_pairs (pipeline, query_id, document_id, content_hash, joined_on, first_grade, grade, graded_on)
   values ('docs', 'canary-query', 'd1', 'content', now(), 3, 3, now())`,
  `insert into shadow_answers (pipeline, shadow, fingerprint, purpose, query_id, received_at, asked_at, cluster, probability, outcome, document_ids)
   values ('docs', 'new', 'x', 'overlap', 'canary-query', now(), now(), 0.5, 1, 'ok', '{}')`,
  `insert into isolation_violations (received_on, pipeline, rule, query_id, received_at, occurred_at, segment, documents, document_count, user_hash)
   select received_on, pipeline, 'tenants', id, received_at, occurred_at, 'acme', '[["d1", 1]]', 1, user_hash from live_queries`,
  `insert into trace_fragments (slot, trace_id, span_id, part, ended_at_unix_nano, pipeline, kind, text, user_hash)
   select 0, trace_id, 'canary-span', 0, 0, pipeline, 'embedding', 'canary-fragment', user_hash from live_queries`,
  `insert into golden_sets (name, version, content_hash, format, imported_at, queries, judgments) values ('faq', 1, 'x', 'jsonl', now(), 1, 0)`,
  `insert into golden_queries (golden_set, version, query_id, position, text, tags) values ('faq', 1, 'g1', 0, 'canary-golden', '{"tenant": "canary-tag"}')`,
  `insert into golden_query_origins (golden_set, query_id, kind, pipeline, live_query_hash, user_hash, asked_at, details, recorded_at)
   select 'faq', 'g1', 'live', pipeline, 'canary-origin', user_hash, received_at, '{"reason": "canary-detail"}', now() from live_queries`,
  `insert into golden_runs (id, pipeline, golden_set, golden_set_version, trigger, settings, status, started_at, deadline_at, finished_at)
   values ('run1', 'docs', 'faq', 1, 'manual', '{}', 'completed', now(), now(), now())`,
  `insert into golden_run_answers (run_id, query_id, outcome, document_ids, scores, attempts, error_code, error_message)
   values ('run1', 'g1', 'error', '{}', '{}', 1, 'http_error', 'cannot parse canary-golden')`,
];

/** Tables that contain the user's rows before the erasure. */
const planted = [
  'density_baseline_queries',
  'golden_queries',
  'golden_query_origins',
  'golden_run_answers',
  'isolation_violations',
  'judge_panel_pairs',
  'judged_queries',
  'judgment_pools',
  'judgments',
  'pool_judgments',
  'shadow_answers',
  'uncovered_topics',
];

const tablesWith = (rows: readonly string[]): string[] => [
  ...new Set(rows.filter((row) => row.includes('canary')).map((row) => row.split(' ')[0]?.split('.')[1] ?? '')),
];

async function plant(url: string, database: Client): Promise<void> {
  for (const [where, body] of [
    ['/v1/queries', query],
    ['/v1/feedback', feedback],
  ] as const) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url + where, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.status).toBe(202);
  }
  for (const statement of derived) await database.query(statement);
}

it('erases a user from every table, from exported files and from the log', async () => {
  const folder = await aFolder({ 'recalld.yaml': config });
  const daemon = await startRecalld(['serve'], folder);
  const database = await aDatabase(folder);
  await plant(daemon.url, database);
  expect(tablesWith(await everyRow(database))).toEqual(expect.arrayContaining(planted));
  const exported = path.join(folder, 'exported');
  await startJobs(embeddedConnection(folder), ['export']);
  for (const text of ['canary-text', 'canary-comment', 'canary-query'])
    await waitFor(() => everyFile(exported).includes(text) || undefined);

  const erased = await fetch(`${daemon.url}/v1/users/canary-user`, { method: 'DELETE' });
  expect(erased.status).toBe(200);

  // Ids of erased queries and traces are remembered, so that data that arrives late for them is also erased.
  expect(tablesWith(await everyRow(database))).toEqual(['erased_subjects']);
  await waitFor(() => !everyFile(exported).includes('canary') || undefined);
  const { stderr } = await daemon.stop();
  expect(stderr).not.toContain('canary');
});
