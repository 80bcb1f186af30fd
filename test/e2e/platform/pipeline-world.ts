/** A daemon with three pipelines, whose names, ids and counts occur nowhere else. */
import { learningState } from '../../../src/density/rules/watch.ts';
import { documents, startFaultServer } from '../../support/fault-server.ts';
import { anInstallation, type Installation, type InstalledDaemon } from '../../support/installation.ts';
import type { AtEnd } from '../../support/recalld.ts';

/** Names and ids of one pipeline's data. */
export interface Planted {
  readonly name: string;
  readonly set: string;
  readonly query: string;
  readonly run: string;
  readonly incident: string;
  readonly silence: string;
  readonly deployment: string;
  readonly topic: string;
  readonly liveQuery: string;
}

/** For each pipeline, a count (of sessions, queries or documents) that occurs in its rows and in no other rows. */
export const counts = { zebra: 60_101, okapi: 71_317, quagga: 82_339 } as const;

export type PipelineName = keyof typeof counts;

/** Data that belongs to no pipeline. */
export const unknown: Planted = {
  name: 'nosuch',
  set: 'nosuch-set',
  query: 'nosuch-question',
  run: 'nosuch-run',
  incident: '987654321',
  silence: '987654322',
  deployment: '987654323',
  topic: 't-9876543210',
  liveQuery: 'nosuch-live',
};

function configOf(retriever: string): string {
  const one = (name: string) => `
  - name: ${name}
    retriever: {kind: http, url: "${retriever}/search", timeout_ms: 60000}
    sampling: {rate: 1}
    privacy: {text: keep}
    judged: {judge: {kind: none}}
    golden: [{set: ${name}-set, max_per_second: 1000}]
    checks: [{name: ${name}-check, measure: ndcg@10, below: 0.99}]
    isolation: [{name: ${name}-rule, segment: tenant, allow: ["{{tenant}}/*"]}]
    shadow: [{name: ${name}-shadow, retriever: {kind: http, url: "${retriever}/search", timeout_ms: 60000}, live_rate: 0}]`;
  return `server: {host: 0.0.0.0, port: 0, metrics_protected: true}\npipelines:${Object.keys(counts).map(one).join('')}\n`;
}

export interface PipelineWorld {
  readonly installed: Installation;
  readonly daemon: InstalledDaemon;
  readonly planted: Readonly<Record<PipelineName, Planted>>;
}

export async function startPipelineWorld(atEnd: AtEnd): Promise<PipelineWorld> {
  const retriever = await startFaultServer(documents([{ id: 'd1', score: 0.9 }]));
  atEnd(() => retriever.close());
  const names = Object.keys(counts) as PipelineName[];
  const sets = names.map((name) => [`${name}.csv`, `question,document\n${name} question,${name}-doc\n`]);
  const installed = await anInstallation(
    { 'recalld.yaml': configOf(retriever.url), ...Object.fromEntries(sets) },
    { atEnd },
  );
  const daemon = await installed.serve('--roles', 'api');
  const planted: [PipelineName, Planted][] = [];
  for (const name of names) planted.push([name, await plant(installed, daemon, name)]);
  return { installed, daemon, planted: Object.fromEntries(planted) as Record<PipelineName, Planted> };
}

async function plant({ json, query }: Installation, { post }: InstalledDaemon, name: PipelineName): Promise<Planted> {
  const count = counts[name];
  const idOf = async (sql: string): Promise<string> => String((await query<{ id: unknown }>(sql, name, count))[0]?.id);
  // New rows get ids that occur nowhere else.
  for (const table of ['incidents', 'silences', 'deployments', 'annotations', 'audit_log'])
    await query(`select setval(pg_get_serial_sequence('${table}', 'id'), $1::bigint)`, count);
  await json(`golden import ${name}.csv --set ${name}-set`);
  const run = (await json<{ run_id: string }>(`golden run --pipeline ${name} --set ${name}-set`)).run_id;
  const [golden] = await query<{ id: string }>(
    'select query_id as id from golden_queries where golden_set = $1',
    `${name}-set`,
  );
  const liveQuery = `${name}-live`;
  const live = { id: liveQuery, pipeline: name, text: `${name} live text`, segments: { tenant: `${name}-tenant` } };
  const episode = { id: `${name}-turn`, original_text: `${name} original text` };
  const results = [{ id: `${name}-doc`, score: 0.5 }];
  await post('/v1/queries', { ...live, results, episode: { ...episode, step: 0 } });
  await post('/v1/queries', { ...live, id: `${name}-again`, results, episode: { ...episode, step: 1 } });
  await post('/v1/feedback', { query_id: liveQuery, pipeline: name, kind: 'citation', document_id: `${name}-doc` });
  await post('/v1/feedback', {
    query_id: liveQuery,
    pipeline: name,
    kind: 'thumb',
    value: 'down',
    comment: `${name} comment`,
  });
  const topic = `t-${`${count}`.padStart(10, '0')}`;
  await query(
    `insert into uncovered_topics (id, pipeline, state, label, centroid, cause, first_seen, last_seen, sessions, traffic_share,
       share_low, share_high, excess_points, density, adjusted_p, dominant_region, examples, nearest, segments)
     values ($1, $2::text, 'open', array[$2::text || '-word'], '', 'new_demand', now(), now(), $3::integer, 0.1, 0.1, 0.1, 1, 0.5,
             0.01, 0, '{}', '[]', '[]')`,
    topic,
    name,
    count,
  );
  await query(
    "insert into live_query_counts values ($1, date_trunc('minute', now()) - interval '10 minutes', 'ok', $2)",
    name,
    count,
  );
  await query(
    `insert into judged_queries (pipeline, query_id, received_on, received_at, cluster, outcome, segments, probability,
       human_draw, needs_human, documents, state, due_at)
     values ($1, $1::text || '-live', now()::date, now(), 0.5, 'ok', '{}', 0.5, 0.5, true, jsonb_build_array(jsonb_build_array($1::text || '-doc', null)), 'graded', now())`,
    name,
  );
  await query(
    `insert into judgments (pipeline, query_id, document_id, judge, grade, judged_at, fingerprint)
     values ($1, $1::text || '-live', $1::text || '-doc', 'model', 3, now(), 'model v1')`,
    name,
  );
  await query(
    `insert into measurements (pipeline, measure, segment, window_start, window_end, measured_at, value, n, details)
     values ($1, 'query_latency_p95', 'all', now() - interval '1 hour', now(), now(), 0.5, $2::integer, '{}')`,
    name,
    count,
  ).catch(() => undefined);
  await query(
    `insert into latest_measurements (pipeline, measure, segment, window_start, window_end, measured_at, value, n, details)
     values ($1, 'latency', 'all', now() - interval '1 hour', now(), now(), 0.5, $2::integer, '{}')`,
    name,
    count,
  );
  await query(
    `insert into check_transitions (pipeline, check_name, severity, from_verdict, to_verdict, occurred_at, threshold, value, explanation)
     values ($1, $1::text || '-check', 'critical', 'ok', 'critical', now() - interval '1 minute', $2::double precision, 0.5, $1::text || ' fell')`,
    name,
    count,
  );
  await query(
    `insert into density_states (pipeline, revision, state, updated_at) values ($1, 1, $2::jsonb, now())`,
    name,
    learning,
  );
  const incident = await idOf(
    `with opened as (
       insert into incidents (pipeline, opened_at, severity, evaluated_at, timeline)
       values ($1, now() - interval '1 minute', 'critical', now(), '[]') returning id)
     insert into diagnoses (incident_id, diagnosed_at, cause, confidence, probability, summary, alerts, findings)
     select id, now(), 'ranking', 'high', 0.95, $1::text || ' ranks worse, ' || $2::integer || ' queries', array[$1::text || '-check'],
            '{"ranked": [], "signs": [], "weighed": [], "effects": [], "failedShare": null, "also": []}' from opened
     returning incident_id as id`,
  );
  await query(
    `insert into cause_marks select incident_id, id, true, null, now(), $1::text || ' owner' from diagnoses where incident_id = $2::bigint`,
    name,
    incident,
  );
  await query(
    `insert into annotations (subject, subject_id, text, author, created_at) values ('incident', $2, $1::text || ' note', $1::text || ' owner', now())`,
    name,
    incident,
  );
  const silence = await idOf(
    `insert into silences (pipeline, starts_at, ends_at, reason, created_at, created_by)
     values ($1, now(), now() + interval '1 day', $1::text || ' reason ' || $2::integer, now(), $1::text || ' owner') returning id`,
  );
  const deployment = await idOf(
    `insert into deployments (pipeline, kind, version, note, source, occurred_at, changes)
     values ($1, 'index', $1::text || '-v' || $2::integer, $1::text || ' shard', 'annotated', now() - interval '1 hour', '[]') returning id`,
  );
  await query(
    `insert into audit_log (at, by, act, pipeline, subject, after) values (now(), $1::text || ' owner', 'add_note', $1, $1::text || ' subject', jsonb_build_object('n', $2::integer))`,
    name,
    count,
  );
  return { name, set: `${name}-set`, query: golden?.id ?? '', run, incident, silence, deployment, topic, liveQuery };
}

const learning = JSON.stringify(learningState({} as Parameters<typeof learningState>[0], null));

/** Tables that contain data of pipelines, but have no column with the name of the pipeline. */
const WITHOUT_NAME = [
  'annotations',
  'cause_marks',
  'golden_sets',
  'golden_queries',
  'golden_judgments',
  'erased_subjects',
];

/**
 * Returns, for each table, a digest of all rows of the other pipelines, including notes, cause marks and golden sets.
 * One statement reads all tables, because each statement has its own connection. Rows of a partition count as rows of
 * its table.
 */
export async function othersRows({ query }: Installation): Promise<Readonly<Record<string, string>>> {
  const [tables] = await query<{ read: string }>(
    `select string_agg(format(
        'select %L as name, md5(string_agg(t::text, chr(10) order by t::text)) as digest from %I t where t::text ~ %L',
        relname, relname, '(okapi|quagga)'), ' union all ') as read
       from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
        and (relname = any($1) or exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'pipeline'))`,
    WITHOUT_NAME,
  );
  const digests = await query<{ name: string; digest: string | null }>(tables?.read ?? '');
  return Object.fromEntries(digests.map(({ name, digest }) => [name, digest ?? 'no rows']));
}
