/** The end of a golden run, written whole. */
import type pg from 'pg';
import type { CheckResult } from '../../checks/rules/check-result.ts';
import type { RunEnd } from '../ports/golden-runs.ts';
import { insertComparison, insertStaleLabels } from './run-comparisons.ts';

/** Within a transaction of the caller. False when the run had ended before. */
export async function finishRun(client: pg.PoolClient, runId: string, end: RunEnd): Promise<boolean> {
  const { rowCount } = await client.query(
    `update golden_runs
        set status = $2::text, reason = $3::text, finished_at = $4::timestamptz, segments_overflow = $5::integer,
            fingerprints = $6::jsonb, labels_probed = $7::integer, labels_stale = $8::integer, queries_dead = $9::integer, labels_gap = $10::text,
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
    ],
  );
  if (rowCount !== 1) return false;
  for (const comparison of end.comparisons) await insertComparison(client, runId, comparison);
  if (end.labels?.kind === 'probed') await insertStaleLabels(client, runId, end.labels.labels);
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
  await insertChecks(client, runId, end.checks);
  return true;
}

/** Puts other checks in the place of those that a run was judged by. */
export async function replaceChecks(
  client: pg.PoolClient,
  runId: string,
  checks: readonly CheckResult[],
): Promise<void> {
  await client.query('delete from golden_run_checks where run_id = $1::text', [runId]);
  await insertChecks(client, runId, checks);
}

async function insertChecks(
  client: pg.PoolClient,
  runId: string,
  checks: readonly CheckResult[],
): Promise<void> {
  await client.query(
    `insert into golden_run_checks (run_id, name, severity, verdict, value, threshold, explanation)
     select $1::text, c.* from unnest($2::text[], $3::text[], $4::text[], $5::double precision[], $6::double precision[], $7::text[]) as c`,
    [
      runId,
      checks.map((c) => c.name),
      checks.map((c) => c.severity),
      checks.map((c) => c.verdict),
      checks.map((c) => c.value),
      checks.map((c) => c.threshold),
      checks.map((c) => c.explanation),
    ],
  );
}
