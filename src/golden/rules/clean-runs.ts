/**
 * Chooses the runs for measuring retriever noise. Excludes runs that would make the noise look larger than it is and
 * would thus hide later faults: runs during an incident, runs with failures, and runs from another deployment.
 */
import { decimal } from '../../core/format.ts';
import { groupBy } from '../../core/group-by.ts';
import { formatMetricKey, type MetricKey, parseMetricKey } from '../../math/ir/metric-key.ts';
import { median } from '../../math/stats/descriptive.ts';
import { defaultMinEffect } from './verdict.ts';

export interface RunFacts {
  readonly runId: string;
  /** Number of queries that failed or timed out. */
  readonly failed: number;
  /** Names of the checks that the run failed, even if later runs did not confirm the failure. */
  readonly failedChecks: readonly string[];
  /** Ids of the incidents that were open during the run. */
  readonly incidents: readonly string[];
  /** Number of deployments of the index, the embedder or the retriever between this run and the pinned run. */
  readonly deployments: number;
  /** Means over all queries. */
  readonly means: readonly { readonly key: MetricKey; readonly mean: number }[];
}

export interface ExcludedRun {
  readonly runId: string;
  /** One clause that completes "excluded because ...". */
  readonly reason: string;
}

/**
 * Minimum number of runs, including the pinned run, for measuring the noise. With fewer runs, the noise would be a
 * guess.
 */
export const MIN_CLEAN_RUNS = 3;

/** Number of robust standard deviations from the median beyond which a mean is an outlier. */
const OUTLYING = 4;
/** The standard deviation of a normal distribution divided by its median absolute deviation. */
const MAD_TO_DEVIATION = 1.4826;

/**
 * Chooses the clean runs near a pinned run. A clean run has no failed query, no failed check, no open incident, and no
 * mean that is an outlier among all runs; no deployment happened between the run and the pinned run.
 *
 * A run's mean is an outlier if its distance from the median of all runs exceeds both 4 robust standard deviations
 * (1.4826 times the median absolute deviation; Rousseeuw and Croux 1993) and the minimum effect of its measure. Because
 * of the minimum effect, a run with a slightly different mean is kept even if the means of all other runs are equal. If
 * such a run were excluded, the noise would be measured as zero, and every small difference would count as a change.
 *
 * @param pinned the run to pin. Its failed checks and open incidents do not exclude reruns that were requested for this
 *   pin, because the user who pins the run accepts them
 * @param isRequested true if the runs were requested for this pin; if false, failed checks and open incidents exclude a
 *   run even if the pinned run has them too
 */
export function chooseCleanRuns(pinned: RunFacts, others: readonly RunFacts[], isRequested: boolean) {
  const accepted = isRequested ? pinned : { failedChecks: [], incidents: [] };
  const excluded: ExcludedRun[] = [];
  const candidates: RunFacts[] = [];
  for (const run of others) {
    const reason = reasonAgainst(run, accepted);
    if (reason === null) candidates.push(run);
    else excluded.push({ runId: run.runId, reason });
  }
  const limits = outlierLimits([pinned, ...candidates]);
  const kept: string[] = [];
  for (const run of candidates) {
    const outlier = run.means.find(({ key, mean }) => {
      const limit = limits.get(formatMetricKey(key));
      return limit !== undefined && Math.abs(mean - limit.usual) > limit.reach;
    });
    if (outlier === undefined) kept.push(run.runId);
    else {
      const usual = limits.get(formatMetricKey(outlier.key))?.usual ?? 0;
      const reason = `its ${formatMetricKey(outlier.key)} of ${decimal(outlier.mean)} is far from the median of all runs (${decimal(usual)})`;
      excluded.push({ runId: run.runId, reason });
    }
  }
  return {
    /** Ids of the chosen runs, in the given order. */
    kept,
    excluded,
  };
}

function reasonAgainst(
  { failed, failedChecks, incidents, deployments }: RunFacts,
  accepted: { readonly failedChecks: readonly string[]; readonly incidents: readonly string[] },
): string | null {
  if (failed > 0) return failed === 1 ? '1 query failed or timed out' : `${failed} queries failed or timed out`;
  const checks = failedChecks.filter((name) => !accepted.failedChecks.includes(name));
  if (checks.length > 0) return `it failed the ${checks.length === 1 ? 'check' : 'checks'} ${checks.join(', ')}`;
  const open = incidents.filter((id) => !accepted.incidents.includes(id));
  if (open.length === 1) return `incident ${open[0]} was open`;
  if (open.length > 1) return `incidents ${open.join(', ')} were open`;
  return deployments === 0 ? null : 'a deployment happened between this run and the pinned run';
}

/**
 * Returns two numbers for each metric: the median of the means, and a maximum distance from the median. A mean at a
 * larger distance is an outlier.
 */
function outlierLimits(runs: readonly RunFacts[]) {
  const byKey = groupBy(
    runs.flatMap(({ means }) => means),
    ({ key }) => formatMetricKey(key),
  );
  return new Map(
    Array.from(byKey, ([name, own]) => {
      const means = own.map(({ mean }) => mean);
      const usual = median(means);
      const deviation = MAD_TO_DEVIATION * median(means.map((mean) => Math.abs(mean - usual)));
      return [
        name,
        { usual, reach: Math.max(OUTLYING * deviation, defaultMinEffect(parseMetricKey(name).measure)) },
      ] as const;
    }),
  );
}
