/** The end of a replay: a new baseline from the same queries, and what the change did to their scores. */
import { NO_REGION, percentile, surpriseOf } from '../../core/drift/coverage/percentile.ts';
import { densityOf } from '../../core/drift/coverage/query-density.ts';
import { mean } from '../../core/stats/mean.ts';
import type { DensityState, ReplayingPhase } from '../../ports/density-states.ts';
import { buildBaseline } from './build-baseline.ts';
import type { FollowChangeDeps } from './follow-change.ts';
import { learningState, startedWatch } from './learn.ts';
import { type NextStep, quietStep } from './next-step.ts';
import type { DensityPlan } from './plan.ts';
import type { Traffic } from './read-traffic.ts';

/** What was not searched by then is done without. */
const LONGEST_REPLAY_MS = 86_400_000;

/** @returns null while queries of the replay are still to be searched */
export async function finishReplay(
  deps: FollowChangeDeps,
  plan: DensityPlan,
  state: DensityState,
  phase: ReplayingPhase,
  signal: AbortSignal,
): Promise<NextStep | null> {
  const { startedMs, reason, baselineVersion } = phase;
  const period = { from: new Date(phase.fromMs), until: new Date(phase.untilMs) };
  const within = { pipeline: plan.pipeline, ...period, scoredSince: null };
  const isOver = deps.clock.now().getTime() - startedMs > LONGEST_REPLAY_MS;
  if (!isOver && (await deps.coverage.tally(within)).open > 0) return null;
  const replayed = { ...period, scoredSince: new Date(startedMs) };
  const built = await buildBaseline(deps, plan, replayed, reason, signal);
  if (built.kind === 'insufficient') {
    return quietStep(learningState(state.fingerprint, startedMs));
  }
  const details = await effectOfChange(deps, plan, baselineVersion, built.traffic);
  const closedMs = Math.ceil(startedMs / plan.windowMs) * plan.windowMs;
  return startedWatch(plan, state, built, { reason: `after ${reason}`, closedMs, details });
}

/** The density of the kept queries before and after the change, both by the percentiles of the baseline before it. */
async function effectOfChange(
  { baselines }: FollowChangeDeps,
  { pipeline }: DensityPlan,
  version: number,
  traffic: Traffic,
): Promise<Readonly<Record<string, unknown>>> {
  const stored = await baselines.find(pipeline, version);
  const { queries } = await baselines.kept(pipeline, version, 'sample');
  const after = new Map(traffic.queries.map(({ id, score }) => [id, score]));
  const pairs = queries.flatMap(({ id, score }) => {
    const now = after.get(id) ?? null;
    return now === null ? [] : [{ before: score, now }];
  });
  if (stored === null || pairs.length === 0) return {};
  const { scores } = stored.baseline;
  const densityOfScores = (values: readonly number[]): number =>
    densityOf(mean(values.map((score) => surpriseOf(percentile(score, NO_REGION, scores)))));
  return {
    paired_queries: pairs.length,
    density_before: densityOfScores(pairs.map(({ before }) => before)),
    density_after: densityOfScores(pairs.map(({ now }) => now)),
    mean_score_change: mean(pairs.map(({ before, now }) => now - before)),
  };
}
