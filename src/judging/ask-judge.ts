/** One call of the judge, for no more money than the day has. */
import type { Judge, JudgeAnswer, JudgeRequest } from './judge.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';

/** Why something was left for another time. */
export type Left = 'unreachable' | 'no_money';

/** Sets the money aside before the call, and counts what it came to. Rejects only with the reason of `signal`. */
export async function askJudge(
  deps: JudgingDeps,
  { pipeline, maxCostPerDay }: JudgingPlan,
  judge: Judge,
  request: JudgeRequest,
  signal: AbortSignal,
): Promise<Exclude<JudgeAnswer, { kind: 'unreachable' }> | Left> {
  const { spending, clock, meter } = deps;
  const dearest = judge.dearest(request);
  const at = clock.now();
  if (dearest > 0 && !(await spending.reserve(pipeline, dearest, maxCostPerDay, at))) return 'no_money';
  const answer = await judge.grade(request, signal);
  const cost = answer.kind === 'unreachable' ? 0 : answer.cost;
  if (dearest > 0) await spending.settle(pipeline, dearest, cost, at);
  if (answer.kind === 'unreachable') return unreachable(deps, pipeline, answer.message);
  meter.increment('recalld_judge_cost_dollars_total', { pipeline }, cost);
  if (answer.kind === 'failed') meter.increment('recalld_judge_failures_total', { pipeline, reason: answer.problem });
  return answer;
}

export function unreachable({ meter, logger }: JudgingDeps, pipeline: string, reason: string): Left {
  meter.increment('recalld_judge_failures_total', { pipeline, reason: 'unreachable' });
  logger.warn('nothing could be graded now', { pipeline, reason });
  return 'unreachable';
}
