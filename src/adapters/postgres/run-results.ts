/** Scores, checks and outcomes of a run, as they were stored. */
import type pg from 'pg';
import type { CheckResult } from '../../core/checks/floor.ts';
import type { OutcomeCounts, SegmentScore } from '../../core/golden/run.ts';
import type { Measure } from '../../core/ir/metric-key.ts';
import { type QueryOutcome, queryOutcomes, type Severity, type Verdict } from '../../core/model.ts';
import type { MetricSummary } from '../../core/stats/summary.ts';

interface ScoreRow {
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
  return rows.map(({ ci_low: ciLow, ci_high: ciHigh, ci_method: ciMethod, ...rest }) => ({
    ...rest,
    ciLow,
    ciHigh,
    ciMethod,
  }));
}

export async function readChecks(db: pg.Pool, runId: string): Promise<CheckResult[]> {
  const { rows } = await db.query<CheckRow>(
    `select name, severity, verdict, value, threshold, explanation
       from golden_run_checks where run_id = $1::text order by name, severity`,
    [runId],
  );
  return rows;
}

export interface OutcomeRow {
  outcome: QueryOutcome;
  count: number;
}

export function countOutcomes(rows: readonly OutcomeRow[]): OutcomeCounts {
  const counts = Object.fromEntries(queryOutcomes.map((outcome) => [outcome, 0])) as Record<
    QueryOutcome,
    number
  >;
  for (const row of rows) counts[row.outcome] = row.count;
  return counts;
}
