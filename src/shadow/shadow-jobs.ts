/** Jobs that ask shadows what users asked. */
import type { JudgingPlan } from '../judging/plan.ts';
import { defineCronJob, type JobDefinition } from '../queue/job-queue.ts';
import { type AskLiveDeps, askShadows } from './ask-live.ts';
import { type JudgeShadowsDeps, judgeShadows } from './judge-shadows.ts';

export interface ShadowJobDeps {
  readonly askShadows: AskLiveDeps;
  readonly judgeShadows: JudgeShadowsDeps;
  readonly judgingPlans: readonly JudgingPlan[];
}

const askShadowsJob = defineCronJob({
  name: 'ask-shadows',
  does: 'Asks shadows a share of the sampled live queries and compares their answers with what users got.',
  cron: '2-59/5 * * * *',
  timeoutMs: 240_000,
  handle: (deps: ShadowJobDeps, signal) => askShadows(deps.askShadows, signal),
});

const judgeShadowsJob = defineCronJob({
  name: 'judge-shadows',
  does: 'Asks shadows the live queries that the judge has graded, and has what only a shadow returns graded.',
  // After the draw of the hour, by `judge-live-traffic`. What that has not graded yet is for the next hour.
  cron: '22 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: (deps: ShadowJobDeps, signal) => judgeShadows(deps.judgeShadows, deps.judgingPlans, signal),
});

export const shadowJobs: readonly JobDefinition<ShadowJobDeps>[] = [askShadowsJob, judgeShadowsJob];
