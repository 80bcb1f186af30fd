/** Sampled live queries -> those whose coverage is measured, so that the queue of searches stays short. */
import {
  type Admission,
  admissionChance,
  nextAdmission,
  openAdmission,
} from '../../core/sampling/admission.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Meter } from '../../ports/metrics.ts';
import type { QueryCoverage } from '../../ports/query-coverage.ts';
import type { Logger } from '../../ports/telemetry.ts';
import type { DensityPlan } from './plan.ts';

export interface AdmitLiveQueriesDeps {
  readonly coverage: Pick<QueryCoverage, 'load' | 'settle'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Meter;
  readonly plans: readonly DensityPlan[];
}

/** Until then the sampling of a minute may still drop queries of it. */
const SETTLED_MS = 4 * 60_000;
/** What could not be measured by then never is. */
export const LOOK_BACK_MS = 6 * 3_600_000;
/** What is waiting may take so long; of more, sessions are left out. */
const LONGEST_QUEUE_MS = 5 * 60_000;
/** Waiting longer than this shows that less is done than the budget allows. */
const PATIENCE_MS = 2 * LONGEST_QUEUE_MS;

/**
 * Decides, in every pipeline, on the queries that arrived since the last decision. Of several who do so at once one
 * decision holds.
 *
 * @throws the first failure, after all pipelines were tried
 */
export async function admitLiveQueries(deps: AdmitLiveQueriesDeps): Promise<void> {
  const results = await Promise.allSettled(deps.plans.map((plan) => admit(deps, plan)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function admit(
  { coverage, clock, logger, meter }: AdmitLiveQueriesDeps,
  { pipeline, maxPerSecond }: DensityPlan,
): Promise<void> {
  const now = clock.now();
  const from = new Date(now.getTime() - LOOK_BACK_MS);
  const until = new Date(now.getTime() - SETTLED_MS);
  const { settled, arrived, admitted, oldest } = await coverage.load(pipeline, from, until);
  const previous: Admission = settled?.admission ?? openAdmission;
  const capacity = Math.max(1, (maxPerSecond * LONGEST_QUEUE_MS) / 1000);
  const oldestMs = oldest === null ? 0 : Math.max(0, until.getTime() - oldest.getTime());
  const load = { arrived, admitted, capacity, oldestMs, patienceMs: PATIENCE_MS };
  const admission = nextAdmission(previous, load, now.getTime());
  const settledUntil = settled?.until ?? null;
  const leftOut = await coverage.settle({ pipeline, from, until, now, admission, settledUntil });
  if (leftOut !== null && leftOut > 0)
    meter.increment('recalld_density_left_out_total', { pipeline }, leftOut);
  if (leftOut === null || (admission.level === previous.level && leftOut === 0)) return;
  logger.warn('more live queries wait for their coverage than the budget of searches can measure', {
    pipeline,
    waiting: arrived + admitted,
    oldest_seconds: Math.round(oldestMs / 1000),
    left_out: leftOut,
    admitted_share: admissionChance(admission),
    max_per_second: maxPerSecond,
  });
}
