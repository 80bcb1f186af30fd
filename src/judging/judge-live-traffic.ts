/** Judges the live traffic of every pipeline whose config says so: draws, grades, measures. */
import { messageOf } from '../text/error-message.ts';
import { DAY_MS } from '../time.ts';
import { drawQueries, MIN_ROUND_MS } from './draw-queries.ts';
import { gradeQueries } from './grade-queries.ts';
import { measureDrop } from './measure-drop.ts';
import { measureJudged } from './measure-judged.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';
import { sendEvaluations } from './send-evaluations.ts';
import { watchJudge } from './watch-judge.ts';

/**
 * One round. Doing it again draws nothing twice, grades nothing twice and measures anew. A pipeline that fails keeps no
 * other from its turn.
 *
 * @throws the reason of `signal` when it aborts
 */
export async function judgeLiveTraffic(
  deps: JudgingDeps,
  plans: readonly JudgingPlan[],
  signal: AbortSignal,
): Promise<void> {
  for (const plan of plans) {
    signal.throwIfAborted();
    try {
      await judgePipeline(deps, plan, signal, MIN_ROUND_MS);
    } catch (error) {
      signal.throwIfAborted();
      deps.logger.error('live traffic could not be judged', { pipeline: plan.pipeline, reason: messageOf(error) });
    }
  }
}

/**
 * One round of one pipeline.
 *
 * @param leastMs a shorter time since the last round draws nothing; what waits is graded all the same
 * @returns queries that were drawn; null when nothing was due
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function judgePipeline(
  deps: JudgingDeps,
  plan: JudgingPlan,
  signal: AbortSignal,
  leastMs: number,
): Promise<number | null> {
  const { judged, clock } = deps;
  const current = await watchJudge(deps, plan, signal);
  const drawn = await drawQueries(deps, plan, leastMs);
  try {
    await gradeQueries(deps, { ...plan, judge: current?.judge ?? null }, signal);
  } finally {
    // What was graded counts, also where the rest takes another round.
    await measureJudged(deps, plan, current);
    await measureDrop(deps, plan, current);
    await sendEvaluations(deps, plan);
    await judged.prune(plan.pipeline, new Date(clock.now().getTime() - plan.retentionDays * DAY_MS));
  }
  return drawn;
}
