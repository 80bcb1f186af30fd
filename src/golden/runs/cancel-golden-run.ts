/** Ends a running golden run by hand. */

import type { Clock } from '../../clock.ts';
import { RecalldError } from '../../errors.ts';
import type { GoldenRun } from '../rules/run.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import { endWithoutScores } from './run-end.ts';

export interface CancelGoldenRunDeps {
  readonly runs: Pick<GoldenRuns, 'find' | 'finish'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Ends a running run as cancelled; whoever works on it stops within seconds.
 *
 * @throws RecalldError run_unknown, run_not_running
 */
export async function cancelGoldenRun(
  { runs, clock }: CancelGoldenRunDeps,
  runId: string,
): Promise<GoldenRun> {
  const end = endWithoutScores('cancelled', 'It was cancelled by hand.', clock.now());
  const isCancelled = await runs.finish(runId, end);
  const run = await runs.find(runId);
  if (run === null) {
    const message = `There is no golden run ${runId}; \`recalld runs list\` shows those that exist.`;
    throw new RecalldError('run_unknown', message);
  }
  if (!isCancelled) {
    const message = `The run ${runId} is ${run.status}; only a running run can be cancelled.`;
    throw new RecalldError('run_not_running', message);
  }
  return run;
}
