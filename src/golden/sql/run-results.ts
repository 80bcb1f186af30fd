/** Scores, checks and outcomes of a run, as they were stored. */
import type pg from 'pg';
import type { CheckResult } from '../../checks/rules/check-result.ts';
import type { Measure } from '../../ir/metric-key.ts';
import { type QueryOutcome, queryOutcomes, type Severity, type Verdict } from '../../model.ts';
import type { MetricSummary } from '../../stats/summary.ts';
import type { RunLabels } from '../ports/golden-runs.ts';
import type { OutcomeCounts, QueryAnswer, SegmentScore } from '../rules/run.ts';

export interface ScoreRow {
  segment: string;
  measure: Measure;
  k: number;
  mean: number;
  n: number;
  ci_low: number;
  ci_high: number;
  ci_method: MetricSummary['ciMethod'];
}

interface CheckRow {
  name: string;
  severity: Severity;
  verdict: Verdict;
  value: number | null;
  threshold: number;
  explanation: string;
}

export async function readScores(db: pg.Pool, runId: string): Promise<SegmentScore[]> {
  const { rows } = await db.query<ScoreRow>(
    `select segment, measure, k, mean, n, ci_low, ci_high, ci_method
       from golden_run_scores where run_id = $1::text order by segment <> 'all', segment, measure, k`,
    [runId],
  );
  return rows.map(toScore);
}

export function toScore({ segment, measure, k, mean, n, ...bounds }: ScoreRow): SegmentScore {
  const { ci_low: ciLow, ci_high: ciHigh, ci_method: ciMethod } = bounds;
  return { segment, measure, k, mean, n, ciLow, ciHigh, ciMethod };
}

export async function readChecks(db: pg.Pool, runId: string): Promise<readonly CheckResult[]> {
  return (await readChecksOf(db, [runId])).get(runId) ?? [];
}

/** The checks of some runs, by run; one that was judged by none is left out. */
export async function readChecksOf(
  db: pg.Pool,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, readonly CheckResult[]>> {
  const { rows } = await db.query<CheckRow & { run_id: string }>(
    `select run_id, name, severity, verdict, value, threshold, explanation
       from golden_run_checks where run_id = any($1::text[]) order by name, severity`,
    [runIds],
  );
  const byRun = new Map<string, CheckResult[]>();
  for (const { run_id, ...check } of rows) {
    const own = byRun.get(run_id);
    if (own === undefined) byRun.set(run_id, [check]);
    else own.push(check);
  }
  return byRun;
}

export interface LabelColumns {
  labels_probed: number | null;
  labels_stale: number | null;
  queries_dead: number | null;
  labels_gap: string | null;
}

export function toLabels(row: LabelColumns): RunLabels {
  return {
    probed: row.labels_probed,
    stale: row.labels_stale,
    deadQueries: row.queries_dead,
    gap: row.labels_gap,
  };
}

export async function readOutcomes(db: pg.Pool, runId: string): Promise<OutcomeCounts> {
  const { rows } = await db.query<{ outcome: QueryOutcome; count: number }>(
    `select outcome, count(*)::integer as count from golden_run_answers where run_id = $1::text group by outcome`,
    [runId],
  );
  const counts = Object.fromEntries(queryOutcomes.map((outcome) => [outcome, 0])) as Record<
    QueryOutcome,
    number
  >;
  for (const row of rows) counts[row.outcome] = row.count;
  return counts;
}

/**
 * Lists come as JSON, which is parsed many times faster than arrays of PostgreSQL are; of numbers PostgreSQL writes it
 * faster as text. A score is never infinite or no number, since it was JSON when it came.
 */
export const answerColumns = `query_id, outcome, array_to_json(document_ids) as document_ids,
  ('[' || array_to_string(scores, ',', 'null') || ']')::json as scores, latency_ms, attempts, error_code, error_message`;

export interface AnswerRow {
  query_id: string;
  outcome: QueryOutcome;
  document_ids: string[];
  scores: (number | null)[];
  latency_ms: number | null;
  attempts: number;
  error_code: string | null;
  error_message: string | null;
}

export function toAnswer(row: AnswerRow): QueryAnswer {
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
