import type { Pool } from 'pg';
import { ALL_SEGMENT } from '../../core/model.ts';
import { isUnbounded } from '../../math/ir/metric-key.ts';
import { MEASURE_CHANGED } from '../../measures/rules/measure-change.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import type { RunFacts } from '../rules/clean-runs.ts';
import type { GoldenRun } from '../rules/run.ts';

/** Kinds of deployments that change results; a new version of a golden set does not change results. */
const DEPLOYED = `('index', 'embedder', 'retriever')`;

/** Number of failed or timed-out queries of the run `r`. The number remains available after the results are deleted. */
const failedQueries = `
  case when r.outcomes is null
       then (select count(*)::integer from golden_run_answers a where a.run_id = r.id and a.outcome in ('error', 'timeout'))
       else coalesce((r.outcomes->>'error')::integer, 0) + coalesce((r.outcomes->>'timeout')::integer, 0) end`;

/**
 * Condition: the incident `i` was open during the run `r`, and its timeline either is empty or contains an alert of a
 * rule other than the one for changed measures. A changed measure alone does not indicate a fault.
 */
const OPEN_DURING = `(i.timeline = '[]' or jsonb_path_exists(i.timeline, '$[*] ? (@.rule != "${MEASURE_CHANGED}")'))
                     and i.pipeline = r.pipeline and i.opened_at < coalesce(r.finished_at, clock_timestamp())
                     and (i.closed_at is null or i.closed_at > r.started_at)`;

/**
 * Condition: the run `r` has no failed query and no failed check, and no incident was open during the run. Ignores
 * checks that the baseline run `$3` also failed, and incidents that were opened no later than `$4`, the start of the
 * baseline run.
 */
export const isCleanBesideBaseline = `
  (${failedQueries}) = 0
  and not exists (select from golden_run_checks c
                   where c.run_id = r.id and c.is_beyond
                     and c.name not in (select name from golden_run_checks where run_id = $3::text and is_beyond))
  and not exists (select from incidents i where ${OPEN_DURING} and i.opened_at > $4::timestamptz)`;

/**
 * Returns the facts that decide which runs the noise measurement excludes, in the order of the runs.
 *
 * @param runs golden runs of one pipeline and set
 * @param pinned the run to be pinned; deployments are counted between it and each run
 */
export async function readRunFacts(
  pool: Pool,
  runs: readonly GoldenRun[],
  pinned: GoldenRun,
): Promise<readonly RunFacts[]> {
  const rows = await queryRows<RunFacts>(
    pool,
    `select r.id as "runId",
            ${failedQueries} as failed,
            array(select distinct name from golden_run_checks c where c.run_id = r.id and c.is_beyond order by name) as "failedChecks",
            array(select i.id::text from incidents i where ${OPEN_DURING} order by i.id) as incidents,
            (select count(*)::integer from deployments d
              where d.pipeline = r.pipeline and d.kind in ${DEPLOYED}
                and d.occurred_at > least(r.started_at, $2::timestamptz)
                and d.occurred_at <= greatest(coalesce(r.finished_at, r.started_at), $3::timestamptz)) as deployments,
            coalesce((select jsonb_agg(jsonb_build_object('key', jsonb_build_object('measure', s.measure, 'k', s.k), 'mean', s.mean))
                        from golden_run_scores s where s.run_id = r.id and s.segment = '${ALL_SEGMENT}'), '[]') as means
       from golden_runs r where r.id = any ($1::text[])`,
    [runs.map(({ id }) => id), pinned.startedAt, pinned.finishedAt ?? pinned.startedAt],
  );
  const byRun = new Map(rows.map((row) => [row.runId, row]));
  return runs.flatMap(({ id }) => {
    const row = byRun.get(id);
    if (row === undefined) return [];
    // Excludes shares of unjudged documents, which do not measure quality, and unbounded gains, which have no minimum
    // effect.
    const means = row.means.filter(({ key: { measure } }) => measure !== 'unjudged' && !isUnbounded(measure));
    return [{ ...row, means }];
  });
}
