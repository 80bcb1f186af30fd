import type pg from 'pg';
import type { CheckResult } from '../../checks/rules/threshold.ts';
import { groupBy } from '../../core/group-by.ts';
import { type QueryOutcome, queryOutcomes, type RunStatus, type Verdict } from '../../core/model.ts';
import { snakeCase } from '../../core/text/names.ts';
import type { Measure } from '../../math/ir/metric-key.ts';
import { insertRows, queryRows } from '../../platform/postgres/rows.ts';
import type { StoredComparison } from '../rules/compare-golden-runs.ts';
import type { ForbiddenResult, ForbiddenResults } from '../rules/forbidden-results.ts';
import type { LabelProbe } from '../rules/labels.ts';
import type { GoldenRun, OutcomeCounts, QueryAnswer, SegmentScore } from '../rules/run.ts';
import { type AnswerEnd, type RunFailure, runFailure } from '../rules/run-failure.ts';
import { insertComparison, insertMissingLabels } from './run-comparisons.ts';
import { readScoreTrends, type ScoreTrendRequest } from './score-trends.ts';

export interface RunEnd extends Pick<GoldenRun, 'reason' | 'warnings' | 'noAnswer' | 'stages' | 'fingerprints'> {
  readonly status: Exclude<RunStatus, 'running'>;
  readonly finishedAt: Date;
  readonly scores: readonly SegmentScore[];
  readonly checks: readonly CheckResult[];
  readonly segmentsOverflow: number;
  /** Result of the probe for stale judgments; null if the run ended without this probe. */
  readonly labels: LabelProbe | null;
  /** Result of the test for forbidden documents; null if the set forbids none, or if the run did not test for them. */
  readonly forbidden: ForbiddenResults | null;
  readonly comparisons: readonly StoredComparison[];
}

const scoreTypes = {
  runId: 'text',
  segment: 'text',
  measure: 'text',
  k: 'integer',
  mean: 'double precision',
  n: 'integer',
  ciLow: 'double precision',
  ciHigh: 'double precision',
  ciMethod: 'text',
} as const;

const checkTypes = {
  runId: 'text',
  name: 'text',
  severity: 'text',
  verdict: 'text',
  value: 'double precision',
  ciLow: 'double precision',
  ciHigh: 'double precision',
  n: 'integer',
  threshold: 'double precision',
  isBeyond: 'boolean',
  explanation: 'text',
  smallestDetectableDrop: 'double precision',
} as const;

/** Stores the outcome of a run within the caller's transaction. Returns false if the run had already ended. */
export async function finishRun(client: pg.PoolClient, runId: string, end: RunEnd): Promise<boolean> {
  const { rowCount } = await client.query(
    `update golden_runs
        set status = $2::text, reason = $3::text, finished_at = $4::timestamptz, segments_overflow = $5::integer,
            fingerprints = $6::jsonb, labels_probed = $7::integer, labels_stale = $8::integer, queries_dead = $9::integer, labels_gap = $10::text, labels_lost = $17::integer,
            labels_deleted = $18::integer,
            warnings = $11::text[], forbidden_asked = $12::integer, forbidden_failed = $13::integer,
            forbidden_unconfirmed = $14::integer, no_answer = $15::jsonb, stages = $16::jsonb,
            lease_holder = null, lease_until = null
      where id = $1::text and status = 'running'`,
    [
      runId,
      end.status,
      end.reason,
      end.finishedAt,
      end.segmentsOverflow,
      JSON.stringify(end.fingerprints),
      end.labels?.kind === 'probed' ? end.labels.probed : null,
      end.labels?.kind === 'probed' ? end.labels.stale : null,
      end.labels?.kind === 'probed' ? end.labels.dead.size : null,
      end.labels?.kind === 'unknown' ? end.labels.reason : null,
      end.warnings,
      end.forbidden?.asked ?? null,
      end.forbidden?.failed ?? null,
      end.forbidden?.unconfirmed ?? null,
      end.noAnswer === null ? null : JSON.stringify(end.noAnswer),
      end.stages === null ? null : JSON.stringify(end.stages),
      end.labels?.kind === 'probed' ? end.labels.lost : null,
      end.labels?.kind === 'probed' ? end.labels.deleted : null,
    ],
  );
  if (rowCount !== 1) return false;
  for (const comparison of end.comparisons) await insertComparison(client, runId, comparison);
  if (end.labels?.kind === 'probed') await insertMissingLabels(client, runId, end.labels.labels);
  await insertForbidden(client, runId, end.forbidden?.confirmed ?? []);
  await insertRows(
    client,
    'golden_run_scores',
    scoreTypes,
    end.scores.map((score) => ({ runId, ...score })),
  );
  await insertChecks(client, runId, end.checks);
  return true;
}

async function insertForbidden(
  client: pg.PoolClient,
  runId: string,
  results: readonly ForbiddenResult[],
): Promise<void> {
  const columns = { runId: 'text', queryId: 'text', documentId: 'text', rank: 'integer' } as const;
  const rows = results.map((one) => ({ ...one, runId, documentId: one.documentId.toWellFormed() }));
  await insertRows(client, 'golden_run_forbidden', columns, rows);
}

export async function readForbidden(db: pg.Pool, runId: string): Promise<readonly ForbiddenResult[]> {
  return queryRows<ForbiddenResult>(
    db,
    `select query_id, document_id, rank
       from golden_run_forbidden where run_id = $1::text order by rank, query_id, document_id`,
    [runId],
  );
}

export async function replaceChecks(
  client: pg.PoolClient,
  runId: string,
  checks: readonly CheckResult[],
): Promise<void> {
  await client.query('delete from golden_run_checks where run_id = $1::text', [runId]);
  await insertChecks(client, runId, checks);
}

async function insertChecks(client: pg.PoolClient, runId: string, checks: readonly CheckResult[]): Promise<void> {
  const rows = checks.map(({ smallestDetectableDrop = null, ...check }) => ({
    ...check,
    runId,
    smallestDetectableDrop,
  }));
  await insertRows(client, 'golden_run_checks', checkTypes, rows);
}

/** Selects the columns of a score `s` under the field names of SegmentScore. */
export const scoreColumns = `s.segment, s.measure, s.k, s.mean, s.n, s.ci_low as "ciLow", s.ci_high as "ciHigh", s.ci_method as "ciMethod"`;

export async function readScores(db: pg.Pool, runId: string): Promise<readonly SegmentScore[]> {
  return queryRows<SegmentScore>(
    db,
    `select ${scoreColumns} from golden_run_scores s
      where run_id = $1::text order by segment <> 'all', segment, measure, k`,
    [runId],
  );
}

export async function readChecks(db: pg.Pool, runId: string): Promise<readonly CheckResult[]> {
  return (await readChecksOf(db, [runId])).get(runId) ?? [];
}

/** Returns the checks of the given runs, keyed by run id. Omits runs without checks. */
export async function readChecksOf(
  db: pg.Pool,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, readonly CheckResult[]>> {
  const rows = await queryRows<CheckResult & { readonly runId: string }>(
    db,
    `select ${Object.keys(checkTypes).map(snakeCase).join(', ')}
       from golden_run_checks where run_id = any($1::text[]) order by name, severity`,
    [runIds],
  );
  const byRun = groupBy(rows, ({ runId }) => runId);
  return new Map(Array.from(byRun, ([runId, own]) => [runId, own.map(({ runId: _runId, ...check }) => check)]));
}

export function selectForbidden(run: string): string {
  return `case when ${run}.forbidden_asked is not null
            then json_build_object('asked', ${run}.forbidden_asked, 'failed', ${run}.forbidden_failed,
                                   'unconfirmed', ${run}.forbidden_unconfirmed) end as forbidden`;
}

export function selectLabels(run: string): string {
  return `json_build_object('probed', ${run}.labels_probed, 'stale', ${run}.labels_stale,
            'deleted', ${run}.labels_deleted, 'lost', ${run}.labels_lost, 'deadQueries', ${run}.queries_dead, 'gap', ${run}.labels_gap) as labels`;
}

export async function readOutcomes(db: pg.Pool, runId: string): Promise<OutcomeCounts> {
  const { rows } = await db.query<{ outcomes: Readonly<Partial<Record<QueryOutcome, number>>> }>(
    `select coalesce(r.outcomes, (select jsonb_object_agg(outcome, n)
                                    from (select outcome, count(*) as n from golden_run_answers
                                           where run_id = $1::text group by outcome) a), '{}') as outcomes
       from golden_runs r where r.id = $1::text`,
    [runId],
  );
  const found = rows[0]?.outcomes ?? {};
  return Object.fromEntries(queryOutcomes.map((outcome) => [outcome, found[outcome] ?? 0])) as OutcomeCounts;
}

export async function readFailure(db: pg.Pool, runId: string): Promise<RunFailure | null> {
  const rows = await queryRows<AnswerEnd>(
    db,
    `select outcome, error_code, error_message
       from golden_run_answers where run_id = $1::text order by answered_at, query_id`,
    [runId],
  );
  return runFailure(rows);
}

/**
 * Reads the results of all queries of a run, or of one query, in order of arrival. Lists are read as JSON, which can be
 * parsed many times faster than PostgreSQL arrays; lists of numbers are assembled as text, which PostgreSQL writes
 * faster. All scores are finite, because they were received as JSON, which cannot represent NaN or infinity.
 */
export async function readAnswers(db: pg.Pool, runId: string, queryId?: string): Promise<readonly QueryAnswer[]> {
  const rows = await queryRows<
    Omit<QueryAnswer, 'documents'> & {
      readonly ids: readonly string[];
      readonly scores: readonly (number | null)[];
      readonly steps: readonly number[] | null;
    }
  >(
    db,
    `select query_id, outcome, array_to_json(document_ids) as ids,
            ('[' || array_to_string(scores, ',', 'null') || ']')::json as scores, document_steps as steps, latency_ms, attempts, error_code,
            error_message
       from golden_run_answers where run_id = $1::text ${queryId === undefined ? '' : 'and query_id = $2::text'}
      order by answered_at, query_id`,
    queryId === undefined ? [runId] : [runId, queryId],
  );
  return rows.map(({ ids, scores, steps, ...answer }) => ({
    ...answer,
    documents: ids.map((id, index) => {
      const step = steps?.[index];
      return { id, score: scores[index] ?? null, ...(step === undefined ? {} : { step }) };
    }),
  }));
}

export interface HistoricRun {
  readonly runId: string;
  readonly goldenSetVersion: number;
  readonly status: RunStatus;
  readonly startedAt: Date;
  /** Distinct verdicts of the run's checks; empty if it has no checks. */
  readonly verdicts: readonly Verdict[];
  /** Scores over all queries, at the largest cutoff; empty unless the run completed. */
  readonly scores: readonly SegmentScore[];
}

/** Selects one row per score of a set's full runs. If more runs match than the limit allows, uses the newest runs. */
const historySql = `
  with newest as (
    select id, golden_set_version, status, started_at from golden_runs
     where pipeline = $1::text and golden_set = $2::text and purpose = 'full'
       and started_at >= $3::timestamptz and started_at < $4::timestamptz
     order by started_at desc limit $5::integer
  )
  select newest.id as "runId", newest.golden_set_version as "goldenSetVersion", newest.status,
         newest.started_at as "startedAt",
         array(select distinct verdict from golden_run_checks where run_id = newest.id) as verdicts, ${scoreColumns}
    from newest
    left join golden_run_scores s
      on s.run_id = newest.id and s.segment = 'all' and ($6::text[] is null or s.measure = any ($6::text[]))
     and s.k = (select max(k) from golden_run_scores where run_id = newest.id and segment = 'all')
   order by newest.started_at, newest.id, s.measure`;

/** Number of runs that `lastReturned` reads: one month of runs for a pipeline with four full runs a day. */
const SEARCHED_RUNS = 120;

export function createRunReads(pool: pg.Pool) {
  return {
    trends: (request: ScoreTrendRequest) => readScoreTrends(pool, request),

    /** Returns a set's latest full runs that started in [from, until), oldest first. */
    async history(request: {
      readonly pipeline: string;
      readonly goldenSet: string;
      readonly from: Date;
      readonly until: Date;
      readonly limit: number;
      /** Measures whose scores are read; default: all measures. */
      readonly measures?: readonly Measure[];
    }): Promise<readonly HistoricRun[]> {
      const { pipeline, goldenSet, from, until, limit, measures = null } = request;
      const rows = await queryRows<Omit<HistoricRun, 'scores'> & (SegmentScore | { measure: null })>(pool, historySql, [
        pipeline,
        goldenSet,
        from,
        until,
        limit,
        measures,
      ]);
      const runs = new Map<string, HistoricRun & { readonly scores: SegmentScore[] }>();
      for (const { runId, goldenSetVersion, status, startedAt, verdicts, ...score } of rows) {
        const run = runs.get(runId) ?? { runId, goldenSetVersion, status, startedAt, verdicts, scores: [] };
        runs.set(runId, run);
        if (score.measure !== null) run.scores.push(score);
      }
      return [...runs.values()];
    },

    /**
     * Returns, for each document id, the newest full run of a pipeline that returned the document for one of these
     * queries. If `queryIds` is null, the results of all queries count. Searches only recent runs.
     */
    async lastReturned(
      pipeline: string,
      documentIds: readonly string[],
      queryIds: readonly string[] | null,
    ): Promise<ReadonlyMap<string, { readonly runId: string; readonly at: Date }>> {
      const { rows } = await pool.query<{ id: string; runId: string; at: Date }>(
        `with recent as (
           select id, started_at from golden_runs
            where pipeline = $1::text and purpose = 'full' and status = 'completed'
            order by started_at desc limit $3::integer
         )
         select distinct on (d.id) d.id, r.id as "runId", r.started_at as at
           from recent r
           join golden_run_answers a on a.run_id = r.id and ($4::text[] is null or a.query_id = any ($4::text[]))
           join unnest($2::text[]) as d (id) on d.id = any (a.document_ids)
          order by d.id, r.started_at desc`,
        [pipeline, documentIds, SEARCHED_RUNS, queryIds],
      );
      return new Map(rows.map(({ id, ...last }) => [id, last]));
    },

    /** Returns the results of one query; null until the query has been run. */
    async answer(runId: string, queryId: string): Promise<QueryAnswer | null> {
      return (await readAnswers(pool, runId, queryId))[0] ?? null;
    },
  };
}
