/** Checks: their verdicts, and the history of these. */
import { evaluateChecks } from '../pipeline/checks/evaluate-checks.ts';
import { measureRetrievers } from '../pipeline/probes/measure-retrievers.ts';
import { defineCronJob, type JobDefinition } from './job-definition.ts';

const evaluateChecksJob = defineCronJob({
  name: 'evaluate-checks',
  does: 'Judges every check on what was measured, with hysteresis and confirmation, and notes each change of a verdict.',
  cron: '25 * * * * *',
  timeoutMs: 55_000,
  async handle(deps) {
    await measureRetrievers(deps.evaluateChecks);
    await evaluateChecks(deps.evaluateChecks);
  },
});

export const checkJobs: readonly JobDefinition[] = [evaluateChecksJob];
