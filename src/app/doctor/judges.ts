/** The doctor on judges: what would leave, where to, at most for how much, and whether grades come. */

import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { createJudgingPlans, type JudgingPlan } from '../../judging/plan.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';
import type { Finding, Report } from './foundations.ts';

/** A pair that no pipeline knows, so that the call tells nothing of anybody. */
const pair = {
  query: 'How do I reset my password?',
  document: 'To reset your password, open the settings, choose Security, and follow the link that is sent to you.',
};
/** The pair answers the question. */
const MIN_GRADE = 2;

export async function examineJudges(
  config: Config,
  pipelines: readonly WatchedPipeline[],
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (const plan of createJudgingPlans(config, pipelines)) {
    const judged = config.pipelines.find(({ name }) => name === plan.pipeline)?.judged;
    if (judged === undefined || plan.judge === null) continue;
    try {
      report({ service: `${plan.pipeline} judge`, ...(await findingOf(plan, whereTo(judged.judge, config), signal)) });
    } finally {
      plan.judge.close?.();
    }
  }
}

async function findingOf(
  { judge, queriesPerDay, depth, maxCostPerDay }: JudgingPlan,
  address: string,
  signal: AbortSignal,
): Promise<Omit<Finding, 'service'>> {
  const startedAt = performance.now();
  const answer = await judge?.grade(pair, signal);
  const ms = performance.now() - startedAt;
  if (answer === undefined || answer.kind === 'unreachable')
    return { status: 'unreachable', ms, message: answer?.message ?? 'There is no judge.' };
  const leaves = `The stored texts of up to ${queriesPerDay} live queries a day and of ${depth} documents of each go to ${address}, for at most $${maxCostPerDay} a day.`;
  if (answer.kind === 'failed')
    return { status: 'wrong', ms, message: `It gives no grade (${answer.problem}); name another model. ${leaves}` };
  if (answer.grade < MIN_GRADE) {
    const message = `It grades a plain answer ${answer.grade} of 3; expect little of it, or move the limits of its grades. ${leaves}`;
    return { status: 'warning', ms, message };
  }
  return { status: 'ok', ms, message: `It grades. ${leaves}` };
}

/** Without what could be a secret in it. */
function whereTo(judge: NonNullable<PipelineConfig['judged']>['judge'], { llm }: Config): string {
  const url = judge.kind === 'reranker' ? judge.reranker.url : (llm?.base_url ?? '');
  return URL.canParse(url) ? new URL(url).origin : 'its address';
}
