/** Golden runs in PostgreSQL: their life, their answers, their end. Reads for the exporter are in latest-runs.ts. */
import type pg from 'pg';
import type { RunStatus } from '../../model.ts';
import { inTransaction } from '../../postgres/transaction.ts';
import { wellFormed } from '../../postgres/values.ts';
import type { GoldenRun, GoldenRuns, NewRun } from '../ports/golden-runs.ts';
import type { QueryAnswer, RunSettings } from '../rules/run.ts';
import { BATCH_QUERIES } from '../rules/schedule/batches.ts';
import { finishRun } from './finish-run.ts';
import { createLatestRuns } from './latest-runs.ts';
import { readComparedWithBaseline, readComparisons, readStaleLabels } from './run-comparisons.ts';
import {
  type AnswerRow,
  answerColumns,
  type LabelColumns,
  readChecks,
  readOutcomes,
  readScores,
  toAnswer,
  toLabels,
} from './run-results.ts';
import { pruneSentinels, readLatency95, readLatestSentinels } from './sentinel-runs.ts';

interface RunRow extends LabelColumns {
  id: string;
  pipeline: string;
  golden_set: string;
  golden_set_version: number;
  purpose: GoldenRun['purpose'];
  trigger: GoldenRun['trigger'];
  cause: string | null;
  query_ids: string[] | null;
  scheduled_for: Date | null;
  settings: RunSettings;
  status: RunStatus;
  reason: string | null;
  started_at: Date;
  deadline_at: Date;
  finished_at: Date | null;
  queries: number;
  fingerprints: Record<string, string>;
}

const selectRun = `
  select r.id, r.pipeline, r.golden_set, r.golden_set_version, r.purpose, r.trigger, r.cause, r.query_ids, r.scheduled_for,
         r.settings, r.status, r.reason, r.started_at, r.deadline_at, r.finished_at, r.fingerprints,
         r.labels_probed, r.labels_stale, r.queries_dead, r.labels_gap, coalesce(cardinality(r.query_ids), s.queries) as queries
    from golden_runs r
    join golden_sets s on s.name = r.golden_set and s.version = r.golden_set_version`;

export function createGoldenRuns(pool: pg.Pool): GoldenRuns {
  return {
    create: (run) => insertRun(pool, run),

    async hold(runId, holder, leaseSeconds) {
      const { rowCount } = await pool.query(
        `update golden_runs
            set lease_holder = $2::text, lease_until = clock_timestamp() + make_interval(secs => $3::double precision)
          where id = $1::text and status = 'running'
            and (lease_holder is null or lease_holder = $2::text or lease_until < clock_timestamp())`,
        [runId, holder, leaseSeconds],
      );
      return rowCount === 1;
    },

    async release(runId, holder) {
      await pool.query(
        `update golden_runs set lease_holder = null, lease_until = null where id = $1::text and lease_holder = $2::text`,
        [runId, holder],
      );
    },

    async saveAnswers(runId, answers) {
      if (answers.length === 0) return;
      await insertAnswers(pool, runId, answers);
    },

    async answers(runId) {
      const { rows } = await pool.query<AnswerRow>(
        `select ${answerColumns} from golden_run_answers where run_id = $1::text`,
        [runId],
      );
      return rows.map(toAnswer);
    },

    async answered(runId, queryIds) {
      const { rows } = await pool.query<{ query_id: string }>(
        `select query_id from golden_run_answers where run_id = $1::text and query_id = any ($2::text[])`,
        [runId, queryIds],
      );
      return new Set(rows.map((row) => row.query_id));
    },

    async finish(runId, end) {
      return inTransaction(pool, (client) => finishRun(client, runId, end));
    },

    async find(runId) {
      const { rows } = await pool.query<RunRow>(`${selectRun} where r.id = $1::text`, [runId]);
      return rows[0] === undefined ? null : toRun(rows[0]);
    },

    async list({
      pipeline = null,
      goldenSet = null,
      version = null,
      status = null,
      purpose = 'full',
      before,
      limit,
    }) {
      const { rows } = await pool.query<RunRow>(
        `${selectRun}
          where ($1::text is null or r.pipeline = $1::text) and ($2::text is null or r.golden_set = $2::text)
            and ($3::text is null or r.status = $3::text)
            and ($4::timestamptz is null or (r.started_at, r.id) < ($4::timestamptz, $5::text))
            and r.purpose = $6::text and ($7::integer is null or r.golden_set_version = $7::integer)
          order by r.started_at desc, r.id desc limit $8::integer`,
        [pipeline, goldenSet, status, before?.startedAt ?? null, before?.id ?? null, purpose, version, limit],
      );
      return rows.map(toRun);
    },

    scores: (runId) => readScores(pool, runId),
    checks: (runId) => readChecks(pool, runId),

    comparisons: (runId) => readComparisons(pool, runId),
    staleLabels: (runId) => readStaleLabels(pool, runId),
    comparedWithBaseline: (...asked) => readComparedWithBaseline(pool, ...asked),

    outcomes: (runId) => readOutcomes(pool, runId),

    async abandoned() {
      const { rows } = await pool.query<RunRow>(
        `${selectRun}
          where r.status = 'running' and (r.lease_until is null or r.lease_until < clock_timestamp())
            and not exists (select from golden_run_batches b
                             where b.run_id = r.id and not b.done and b.lease_until >= clock_timestamp())
          order by r.started_at`,
      );
      return rows.map(toRun);
    },

    latest: createLatestRuns(pool),
    latestSentinels: () => readLatestSentinels(pool),
    latency95: (runId) => readLatency95(pool, runId),
    pruneSentinels: (before) => pruneSentinels(pool, before),
  };
}

/** The batches come with the run, so that no worker ever sees one without the other. */
async function insertRun(pool: pg.Pool, run: NewRun): Promise<boolean> {
  const { rowCount } = await pool.query(
    `with made as (
       insert into golden_runs (id, pipeline, golden_set, golden_set_version, purpose, trigger, cause, query_ids, scheduled_for, settings, started_at, deadline_at)
       values ($1::text, $2::text, $3::text, $4::integer, $5::text, $6::text, $7::text, $8::text[], $9::timestamptz, $10::jsonb, $11::timestamptz, $12::timestamptz)
       on conflict do nothing
       returning id, golden_set, golden_set_version, query_ids
     )
     insert into golden_run_batches (run_id, batch)
     select made.id, batch
       from made
       join golden_sets s on s.name = made.golden_set and s.version = made.golden_set_version
      cross join lateral generate_series(0, (coalesce(cardinality(made.query_ids), s.queries) + $13::integer - 1) / $13::integer - 1) as batch`,
    [
      run.id,
      run.pipeline,
      run.goldenSet,
      run.goldenSetVersion,
      run.purpose,
      run.trigger,
      run.cause,
      run.queryIds,
      run.scheduledFor,
      JSON.stringify(run.settings),
      run.startedAt,
      run.deadlineAt,
      BATCH_QUERIES,
    ],
  );
  return (rowCount ?? 0) > 0;
}

/**
 * Ragged lists of documents travel as one JSON array per row, since unnest flattens arrays of arrays. All insert in
 * one order, so that two workers with the same answers wait for each other and never deadlock.
 */
async function insertAnswers(pool: pg.Pool, runId: string, answers: readonly QueryAnswer[]): Promise<void> {
  await pool.query(
    `insert into golden_run_answers
       (run_id, query_id, outcome, document_ids, scores, latency_ms, attempts, error_code, error_message)
     select $1::text, a.query_id, a.outcome,
            array(select e.value from jsonb_array_elements_text(a.ids::jsonb) with ordinality as e order by e.ordinality),
            array(select e.value::double precision from jsonb_array_elements_text(a.scores::jsonb) with ordinality as e order by e.ordinality),
            a.latency_ms, a.attempts, a.error_code, a.error_message
       from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::double precision[], $7::integer[], $8::text[], $9::text[])
         as a (query_id, outcome, ids, scores, latency_ms, attempts, error_code, error_message)
      order by a.query_id
     on conflict (run_id, query_id) do nothing`,
    [
      runId,
      answers.map((a) => a.queryId),
      answers.map((a) => a.outcome),
      answers.map((a) => JSON.stringify(a.documents.map((d) => wellFormed(d.id)))),
      answers.map((a) => JSON.stringify(a.documents.map((d) => d.score))),
      answers.map((a) => a.latencyMs),
      answers.map((a) => a.attempts),
      answers.map((a) => a.errorCode),
      answers.map((a) => a.errorMessage),
    ],
  );
}

function toRun(row: RunRow): GoldenRun {
  return {
    id: row.id,
    pipeline: row.pipeline,
    goldenSet: row.golden_set,
    goldenSetVersion: row.golden_set_version,
    purpose: row.purpose,
    trigger: row.trigger,
    cause: row.cause,
    queryIds: row.query_ids,
    scheduledFor: row.scheduled_for,
    settings: row.settings,
    status: row.status,
    reason: row.reason,
    startedAt: row.started_at,
    deadlineAt: row.deadline_at,
    finishedAt: row.finished_at,
    queriesTotal: row.queries,
    fingerprints: row.fingerprints,
    labels: toLabels(row),
  };
}
