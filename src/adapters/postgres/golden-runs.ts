/** Golden runs in PostgreSQL: their life, their answers, their end. Reads for the exporter are in latest-runs.ts. */
import type pg from 'pg';
import type { QueryAnswer, RunSettings } from '../../core/golden/run.ts';
import type { QueryOutcome, RunStatus } from '../../core/model.ts';
import type { GoldenRun, GoldenRuns, RunEnd } from '../../ports/golden-runs.ts';
import { readLatestRuns } from './latest-runs.ts';
import { countOutcomes, type OutcomeRow, readChecks, readScores } from './run-results.ts';
import { wellFormed } from './text.ts';
import { inTransaction } from './transaction.ts';

interface RunRow {
  id: string;
  pipeline: string;
  golden_set: string;
  golden_set_version: number;
  trigger: 'schedule' | 'manual';
  scheduled_for: Date | null;
  settings: RunSettings;
  status: RunStatus;
  reason: string | null;
  started_at: Date;
  deadline_at: Date;
  finished_at: Date | null;
  queries: number;
}

interface AnswerRow {
  query_id: string;
  outcome: QueryOutcome;
  document_ids: string[];
  scores: (number | null)[];
  latency_ms: number | null;
  attempts: number;
  error_code: string | null;
  error_message: string | null;
}

const selectRun = `
  select r.id, r.pipeline, r.golden_set, r.golden_set_version, r.trigger, r.scheduled_for, r.settings, r.status, r.reason,
         r.started_at, r.deadline_at, r.finished_at, s.queries
    from golden_runs r
    join golden_sets s on s.name = r.golden_set and s.version = r.golden_set_version`;

export function createGoldenRuns(pool: pg.Pool): GoldenRuns {
  return {
    async create(run) {
      const { rowCount } = await pool.query(
        `insert into golden_runs (id, pipeline, golden_set, golden_set_version, trigger, scheduled_for, settings, started_at, deadline_at)
         values ($1::text, $2::text, $3::text, $4::integer, $5::text, $6::timestamptz, $7::jsonb, $8::timestamptz, $9::timestamptz)
         on conflict do nothing`,
        [
          run.id,
          run.pipeline,
          run.goldenSet,
          run.goldenSetVersion,
          run.trigger,
          run.scheduledFor,
          JSON.stringify(run.settings),
          run.startedAt,
          run.deadlineAt,
        ],
      );
      return rowCount === 1;
    },

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
        `select query_id, outcome, document_ids, scores, latency_ms, attempts, error_code, error_message
           from golden_run_answers where run_id = $1::text`,
        [runId],
      );
      return rows.map(toAnswer);
    },

    async finish(runId, end) {
      return inTransaction(pool, (client) => finishRun(client, runId, end));
    },

    async find(runId) {
      const { rows } = await pool.query<RunRow>(`${selectRun} where r.id = $1::text`, [runId]);
      return rows[0] === undefined ? null : toRun(rows[0]);
    },

    async list({ pipeline, goldenSet, limit }) {
      const { rows } = await pool.query<RunRow>(
        `${selectRun}
          where ($1::text is null or r.pipeline = $1::text) and ($2::text is null or r.golden_set = $2::text)
          order by r.started_at desc, r.id desc limit $3::integer`,
        [pipeline ?? null, goldenSet ?? null, limit],
      );
      return rows.map(toRun);
    },

    scores: (runId) => readScores(pool, runId),
    checks: (runId) => readChecks(pool, runId),

    async outcomes(runId) {
      const { rows } = await pool.query<OutcomeRow>(
        `select outcome, count(*)::integer as count from golden_run_answers where run_id = $1::text group by outcome`,
        [runId],
      );
      return countOutcomes(rows);
    },

    async abandoned() {
      const { rows } = await pool.query<RunRow>(
        `${selectRun}
          where r.status = 'running' and (r.lease_until is null or r.lease_until < clock_timestamp())
          order by r.started_at`,
      );
      return rows.map(toRun);
    },

    latest: () => readLatestRuns(pool),
  };
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

async function finishRun(client: pg.PoolClient, runId: string, end: RunEnd): Promise<boolean> {
  const { rowCount } = await client.query(
    `update golden_runs
        set status = $2::text, reason = $3::text, finished_at = $4::timestamptz, segments_overflow = $5::integer,
            lease_holder = null, lease_until = null
      where id = $1::text and status = 'running'`,
    [runId, end.status, end.reason, end.finishedAt, end.segmentsOverflow],
  );
  if (rowCount !== 1) return false;
  await client.query(
    `insert into golden_run_scores (run_id, segment, measure, k, mean, n, ci_low, ci_high, ci_method)
     select $1::text, s.* from unnest($2::text[], $3::text[], $4::integer[], $5::double precision[], $6::integer[],
                                      $7::double precision[], $8::double precision[], $9::text[]) as s`,
    [
      runId,
      end.scores.map((s) => s.segment),
      end.scores.map((s) => s.measure),
      end.scores.map((s) => s.k),
      end.scores.map((s) => s.mean),
      end.scores.map((s) => s.n),
      end.scores.map((s) => s.ciLow),
      end.scores.map((s) => s.ciHigh),
      end.scores.map((s) => s.ciMethod),
    ],
  );
  await client.query(
    `insert into golden_run_checks (run_id, name, severity, verdict, value, threshold, explanation)
     select $1::text, c.* from unnest($2::text[], $3::text[], $4::text[], $5::double precision[], $6::double precision[], $7::text[]) as c`,
    [
      runId,
      end.checks.map((c) => c.name),
      end.checks.map((c) => c.severity),
      end.checks.map((c) => c.verdict),
      end.checks.map((c) => c.value),
      end.checks.map((c) => c.threshold),
      end.checks.map((c) => c.explanation),
    ],
  );
  return true;
}

function toRun(row: RunRow): GoldenRun {
  return {
    id: row.id,
    pipeline: row.pipeline,
    goldenSet: row.golden_set,
    goldenSetVersion: row.golden_set_version,
    trigger: row.trigger,
    scheduledFor: row.scheduled_for,
    settings: row.settings,
    status: row.status,
    reason: row.reason,
    startedAt: row.started_at,
    deadlineAt: row.deadline_at,
    finishedAt: row.finished_at,
    queriesTotal: row.queries,
  };
}

function toAnswer(row: AnswerRow): QueryAnswer {
  return {
    queryId: row.query_id,
    outcome: row.outcome,
    documents: row.document_ids.map((id, index) => ({ id, score: row.scores[index] ?? null })),
    latencyMs: row.latency_ms,
    attempts: row.attempts,
    errorCode: row.error_code,
    errorMessage: row.error_message,
  };
}
