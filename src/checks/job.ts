import { type MeasureRetrieversDeps, measureRetrievers } from '../golden/runs/measure-retrievers.ts';
import { defineCronJob } from '../queue/job-queue.ts';

export interface CheckJobDeps extends MeasureRetrieversDeps {
  /** Judges every check. */
  readonly evaluateChecks: () => Promise<void>;
}

export const evaluateChecksJob = defineCronJob({
  name: 'evaluate-checks',
  does: 'Judges every check on what was measured, with hysteresis and confirmation, and notes each change of a verdict.',
  cron: '25 * * * * *',
  timeoutMs: 55_000,
  async handle(deps: CheckJobDeps) {
    await measureRetrievers(deps);
    await deps.evaluateChecks();
  },
});
