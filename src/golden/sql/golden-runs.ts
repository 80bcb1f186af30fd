/**
 * Golden runs and the outcomes of their queries.
 *
 * A worker uses a lease to claim a run in progress. Only the worker with the lease stores results. When the lease
 * expires, any worker may take over the run and continue with the queries without stored results.
 */

import type pg from 'pg';
import type { Scope } from '../../core/context.ts';
import type { RunStatus } from '../../core/model.ts';
import { endedGoldenSets } from '../../live/deployments/configured-items.ts';
import { type Act, recordActs } from '../../platform/access/audit-log.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { visible } from '../../platform/postgres/visible.ts';
import { staleFates } from '../rules/labels.ts';
import {
  type AnsweredStage,
  BATCH_QUERIES,
  type GoldenRun,
  type NewRun,
  type QueryAnswer,
  type QueryContext,
  type RunPurpose,
} from '../rules/run.ts';
import { deleteAnswers } from './answer-retention.ts';
import { readRunFacts } from './clean-runs.ts';
import { createLatestRuns, type LatestRun, readLatestSentinels } from './latest-runs.ts';
import { readAccepted, readComparedWithBaseline, readComparisons, readMissingLabels } from './run-comparisons.ts';
import {
  finishRun,
  type RunEnd,
  readAnswers,
  readChecks,
  readFailure,
  readForbidden,
  readOutcomes,
  readScores,
  selectForbidden,
  selectLabels,
} from './run-results.ts';

const selectRun = `
  select r.id, r.pipeline, r.golden_set, r.golden_set_version, r.purpose, r.trigger, r.cause, r.query_ids, r.scheduled_for,
         r.settings, r.status, r.reason, r.warnings, r.started_at, r.deadline_at, r.finished_at, r.fingerprints, r.no_answer,
         r.stages, r.answers_deleted_at, coalesce(cardinality(r.query_ids), s.queries) as queries_total, ${selectLabels('r')},
         ${selectForbidden('r')}
    from golden_runs r
    join golden_sets s on s.name = r.golden_set and s.version = r.golden_set_version`;

export type GoldenRuns = ReturnType<typeof createGoldenRuns>;

/** @param by name of the person who starts or cancels runs, for the audit log; null for recalld itself */
export function createGoldenRuns(pool: pg.Pool, by: string | null = null, scope: Scope = null) {
  const seen = scope?.pipelines ?? null;
  const readLatest = createLatestRuns(pool);
  return {
    /** Returns false if the tick already has a run, or if a full run started by a sentinel is still in progress. */
    create(run: NewRun): Promise<boolean> {
      return inTransaction(pool, async (client) => {
        const isCreated = await insertRun(client, run);
        if (isCreated && by !== null) await recordActs(client, [runAct(run, 'start_run', by, run.startedAt)]);
        return isCreated;
      });
    },

    /** Claims or renews the lease. Returns false if the run is not in progress, or if another worker has the lease. */
    async hold(runId: string, holder: string, leaseSeconds: number): Promise<boolean> {
      const { rowCount } = await pool.query(
        `update golden_runs
            set lease_holder = $2::text, lease_until = clock_timestamp() + make_interval(secs => $3::double precision)
          where id = $1::text and status = 'running'
            and (lease_holder is null or lease_holder = $2::text or lease_until < clock_timestamp())`,
        [runId, holder, leaseSeconds],
      );
      return rowCount === 1;
    },

    /** Releases the lease, so that another worker can continue immediately. */
    async release(runId: string, holder: string): Promise<void> {
      await pool.query(
        `update golden_runs set lease_holder = null, lease_until = null where id = $1::text and lease_holder = $2::text`,
        [runId, holder],
      );
    },

    /** Stores query results; results that are already stored remain unchanged. */
    async saveAnswers(runId: string, answers: readonly QueryAnswer[]): Promise<void> {
      if (answers.length > 0) await insertAnswers(pool, runId, answers);
    },

    /** Returns the query results in order of arrival. */
    answers: (runId: string) => readAnswers(pool, runId),

    /** Returns the ids of the queries whose results are stored. */
    async answered(runId: string, queryIds: readonly string[]): Promise<ReadonlySet<string>> {
      const { rows } = await pool.query<{ query_id: string }>(
        `select query_id from golden_run_answers where run_id = $1::text and query_id = any ($2::text[])`,
        [runId, queryIds],
      );
      return new Set(rows.map((row) => row.query_id));
    },

    /** Ends a run with its scores and checks, in one transaction. Returns false if the run had already ended. */
    finish(runId: string, end: RunEnd): Promise<boolean> {
      return inTransaction(pool, async (client) => {
        const isFinished = await finishRun(client, runId, end);
        if (isFinished && end.status === 'cancelled' && by !== null) {
          const rows = await queryRows<GoldenRun>(client, `${selectRun} where r.id = $1::text`, [runId]);
          await recordActs(
            client,
            rows.map((run) => runAct(run, 'cancel_run', by, end.finishedAt)),
          );
        }
        return isFinished;
      });
    },

    async find(runId: string): Promise<GoldenRun | null> {
      return queryRow<GoldenRun>(pool, `${selectRun} where r.id = $1::text and ${visible('r.pipeline', 2)}`, [
        runId,
        seen,
      ]);
    },

    async list(filter: {
      readonly pipeline?: string | undefined;
      readonly goldenSet?: string | undefined;
      readonly version?: number | undefined;
      readonly status?: RunStatus | undefined;
      /** Selects only runs with this purpose; default: full runs. */
      readonly purpose?: RunPurpose;
      /** Selects only runs that started before the given run. */
      readonly before?: GoldenRun | undefined;
      /** Order of the runs; default: newest first. */
      readonly order?: 'oldest_first';
      readonly limit: number;
    }): Promise<readonly GoldenRun[]> {
      const { pipeline = null, goldenSet = null, version = null, status = null, before, limit } = filter;
      const direction = filter.order === undefined ? 'desc' : 'asc';
      return queryRows<GoldenRun>(
        pool,
        `${selectRun}
          where ($1::text is null or r.pipeline = $1::text) and ($2::text is null or r.golden_set = $2::text)
            and ($3::text is null or r.status = $3::text)
            and ($4::timestamptz is null or (r.started_at, r.id) < ($4::timestamptz, $5::text))
            and r.purpose = $6::text and ($7::integer is null or r.golden_set_version = $7::integer)
            and ${visible('r.pipeline', 9)}
          order by r.started_at ${direction}, r.id ${direction} limit $8::integer`,
        [
          pipeline,
          goldenSet,
          status,
          before?.startedAt ?? null,
          before?.id ?? null,
          filter.purpose ?? 'full',
          version,
          limit,
          seen,
        ],
      );
    },

    scores: (runId: string) => readScores(pool, runId),
    checks: (runId: string) => readChecks(pool, runId),
    outcomes: (runId: string) => readOutcomes(pool, runId),

    failure: (runId: string) => readFailure(pool, runId),
    comparisons: (runId: string) => readComparisons(pool, runId),

    /** Returns the forbidden documents that the run returned, by rank. */
    forbidden: (runId: string) => readForbidden(pool, runId),

    facts: (runs: readonly GoldenRun[], pinned: GoldenRun) => readRunFacts(pool, runs, pinned),

    /** Returns the differences from a baseline that were accepted up to the given time. */
    accepted: (baseline: GoldenRun, at: Date) => readAccepted(pool, baseline, at),

    /** Returns the judgments of superseded and deleted documents. Their queries are excluded from comparisons. */
    staleLabels: (runId: string) => readMissingLabels(pool, runId, staleFates),
    lostLabels: (runId: string) => readMissingLabels(pool, runId, ['lost']),

    /**
     * Returns the stored baseline comparisons of the latest completed full runs of a pipeline and set, oldest run
     * first. Considers only set versions up to the given version.
     */
    comparedWithBaseline: readComparedWithBaseline.bind(null, pool),

    /** Returns the 95th percentile latency in milliseconds, excluding failures; null if there are no latencies. */
    async latency95(runId: string): Promise<number | null> {
      const { rows } = await pool.query<{ p95: number | null }>(
        `select percentile_disc(0.95) within group (order by latency_ms) as p95
           from golden_run_answers where run_id = $1::text and outcome in ('ok', 'empty') and latency_ms is not null`,
        [runId],
      );
      return rows[0]?.p95 ?? null;
    },

    /**
     * Returns, for each query, the size of the texts that the retriever returned. Omits queries that have a result
     * without a text.
     */
    async contexts(runId: string): Promise<readonly QueryContext[]> {
      return queryRows<QueryContext>(
        pool,
        `select query_id, context_characters as characters, context_repeated as repeated
           from golden_run_answers where run_id = $1::text and context_characters is not null`,
        [runId],
      );
    },

    /** Returns the ranks of judged documents in each stage, keyed by query id, for responses that report stages. */
    async stages(runId: string): Promise<ReadonlyMap<string, readonly AnsweredStage[]>> {
      const { rows } = await pool.query<{ query_id: string; stages: readonly AnsweredStage[] }>(
        `select query_id, stages from golden_run_answers where run_id = $1::text and stages is not null`,
        [runId],
      );
      return new Map(rows.map(({ query_id, stages }) => [query_id, stages]));
    },

    /**
     * Returns, oldest first, the runs in progress without a valid lease, either on the run or on one of its batches.
     */
    async abandoned(): Promise<readonly GoldenRun[]> {
      return queryRows<GoldenRun>(
        pool,
        `${selectRun}
          where r.status = 'running' and (r.lease_until is null or r.lease_until < clock_timestamp())
            and not exists (select from golden_run_batches b
                             where b.run_id = r.id and not b.done and b.lease_until >= clock_timestamp())
          order by r.started_at`,
      );
    },

    /**
     * Returns, for the exporter, the state of the full runs of each pipeline and golden set, if there are any. During a
     * rotation, returns the state of the old version; afterwards, returns the state of the new version. The exporter
     * omits sets that are no longer in the config.
     */
    async latest(): Promise<readonly LatestRun[]> {
      const [latest, ended] = await Promise.all([readLatest(), endedGoldenSets(pool)]);
      return latest.filter(
        ({ pipeline, goldenSet }) =>
          !ended.has(`${pipeline} ${goldenSet}`) && (seen === null || seen.includes(pipeline)),
      );
    },

    /** Returns, for the exporter, the latest sentinel of each pipeline and golden set, if there is one. */
    latestSentinels: () => readLatestSentinels(pool),

    /** Returns the number of runs whose results were deleted. */
    deleteAnswers: deleteAnswers.bind(null, pool),

    /** Deletes sentinels that started before the given time; full runs are kept. */
    async pruneSentinels(before: Date): Promise<void> {
      await pool.query(
        `delete from golden_runs where purpose = 'sentinel' and status <> 'running' and started_at < $1::timestamptz`,
        [before],
      );
    },
  };
}

function runAct(
  { id, pipeline, goldenSet, goldenSetVersion }: NewRun,
  act: 'start_run' | 'cancel_run',
  by: string,
  at: Date,
): Act {
  const run = { golden_set: goldenSet, golden_set_version: goldenSetVersion };
  return {
    at,
    by,
    act,
    pipeline,
    subject: id,
    before: act === 'start_run' ? null : { ...run, status: 'running' },
    after: { ...run, status: act === 'start_run' ? 'running' : 'cancelled' },
  };
}

/** Inserts the run with its batches in one statement, so that no worker sees a run without batches. */
async function insertRun(client: pg.PoolClient, run: NewRun): Promise<boolean> {
  const { rowCount } = await client.query(
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
 * Sends the document list of each row as one JSON array, because unnest flattens nested arrays. Rows are inserted in a
 * fixed order: if two workers store results of the same queries, one waits for the other, and the two cannot deadlock.
 * `answered_at` records the order of arrival.
 */
async function insertAnswers(pool: pg.Pool, runId: string, answers: readonly QueryAnswer[]): Promise<void> {
  await pool.query(
    `insert into golden_run_answers
       (run_id, query_id, outcome, document_ids, scores, latency_ms, attempts, error_code, error_message,
        context_characters, context_repeated, stages, document_steps, answered_at)
     select $1::text, a.query_id, a.outcome,
            array(select e.value from jsonb_array_elements_text(a.ids::jsonb) with ordinality as e order by e.ordinality),
            array(select e.value::double precision from jsonb_array_elements_text(a.scores::jsonb) with ordinality as e order by e.ordinality),
            a.latency_ms, a.attempts, a.error_code, a.error_message, a.characters, a.repeated, a.stages::jsonb,
            case when a.steps is not null then array(select e.value::smallint from jsonb_array_elements_text(a.steps::jsonb) with ordinality as e order by e.ordinality) end,
            statement_timestamp() + a.place * interval '1 microsecond'
       from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::double precision[], $7::integer[], $8::text[], $9::text[],
                   $10::integer[], $11::double precision[], $12::text[], $13::text[])
         with ordinality as a (query_id, outcome, ids, scores, latency_ms, attempts, error_code, error_message, characters, repeated, stages, steps, place)
      order by a.query_id
     on conflict (run_id, query_id) do nothing`,
    [
      runId,
      answers.map((a) => a.queryId),
      answers.map((a) => a.outcome),
      answers.map((a) => JSON.stringify(a.documents.map((d) => d.id.toWellFormed()))),
      answers.map((a) => JSON.stringify(a.documents.map((d) => d.score))),
      answers.map((a) => a.latencyMs),
      answers.map((a) => a.attempts),
      answers.map((a) => a.errorCode),
      answers.map((a) => a.errorMessage),
      answers.map((a) => a.context?.characters ?? null),
      answers.map((a) => a.context?.repeated ?? null),
      answers.map((a) => (a.stages === undefined ? null : stagesText(a.stages))),
      answers.map(({ documents }) =>
        documents.some(({ step }) => step !== undefined) ? JSON.stringify(documents.map(({ step }) => step)) : null,
      ),
    ],
  );
}

function stagesText(stages: readonly AnsweredStage[]): string {
  const wellNamed = stages.map(({ ranks, ...stage }) => ({
    ...stage,
    ranks: Object.fromEntries(Object.entries(ranks).map(([id, rank]) => [id.toWellFormed(), rank])),
  }));
  return JSON.stringify(wellNamed);
}
