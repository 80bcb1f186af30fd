/** Has fixed pairs graded again every day, so that a judge that changed behind its name is noticed and is called another. */
import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import { askJudge } from './grade-queries.ts';
import type { Judge } from './judge.ts';
import type { JudgePanel } from './judge-panel-table.ts';
import type { JudgingPlan } from './plan.ts';
import { type JudgeDrift, judgeDrift } from './rules/agreement.ts';

export const JUDGE_DRIFT = 'judge_drift';

/** A worker that has not come back by then is taken for dead. */
const LEASE_MS = 5 * MINUTE_MS;

/** A judge as it grades since then. */
export interface CurrentJudge {
  /** Its fingerprint is another one after each change. */
  readonly judge: Judge;
  readonly since: Date;
}

/**
 * One round: fills the panel, grades what is due today and, once all of it is, holds it against the first grades. A judge
 * that grades otherwise than then is a deployment of kind `judge`; its grades are kept apart from those before. Money that
 * runs out and a judge that is not reached leave the rest to the next round; whoever is killed costs one call.
 *
 * @returns null where people alone grade
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function checkJudgeDrift(
  context: Context,
  plan: JudgingPlan,
  signal: AbortSignal,
): Promise<CurrentJudge | null> {
  const { db, clock } = context;
  const { pipeline, judge, queriesPerDay, depth } = plan;
  if (judge === null) return null;
  const panel = await db.judging.panels.current(pipeline, judge.fingerprint, clock.now());
  await noteJudge(context, pipeline, judge, panel);
  await db.judging.panels.fill(pipeline, panel.identity, queriesPerDay * depth, clock.now());
  if (panel.isJudged || !(await gradeAgain(context, plan, judge, signal))) return asOf(judge, panel);
  const now = clock.now();
  const drift = judgeDrift((await db.judging.panels.gradedToday(pipeline, now)) ?? []);
  if (drift === null) return asOf(judge, panel);
  await recordDrift(context, pipeline, panel, drift, now);
  await db.judging.panels.finalizeDay(pipeline, drift.verdict === 'changed', now);
  const seen = await db.judging.panels.current(pipeline, judge.fingerprint, now);
  await noteJudge(context, pipeline, judge, seen);
  return asOf(judge, seen);
}

const asOf = (judge: Judge, { identity, since }: JudgePanel): CurrentJudge => ({
  judge: { ...judge, fingerprint: identity },
  since,
});

/** Another judge than was last seen is a deployment; done again, it says nothing new. */
async function noteJudge(
  { db, clock, logger }: Context,
  pipeline: string,
  { name, fingerprint }: Judge,
  { identity, since }: JudgePanel,
): Promise<void> {
  const deployment = await db.live.deployments.observe({
    pipeline,
    part: 'judge',
    fingerprint: identity,
    traits: { judge: `${name} ${fingerprint}`, grades: `as on ${since.toISOString().slice(0, 10)}` },
    at: clock.now(),
  });
  if (deployment !== null) logger.warn('another judge grades', { pipeline, changes: deployment.changes });
}

/** @returns whether nothing is left to grade today */
async function gradeAgain(context: Context, plan: JudgingPlan, judge: Judge, signal: AbortSignal): Promise<boolean> {
  const { db, clock } = context;
  for (;;) {
    signal.throwIfAborted();
    const now = clock.now();
    const pair = await db.judging.panels.claim(plan.pipeline, now, new Date(now.getTime() + LEASE_MS));
    if (pair === null) return (await db.judging.panels.gradedToday(plan.pipeline, clock.now())) !== null;
    const answer = await askJudge(context, plan, judge, pair, signal);
    const isLeft = answer === 'no_money' || answer === 'unreachable';
    const grade = isLeft ? null : answer.kind === 'grade' ? answer.grade : 0;
    await db.judging.panels.record(plan.pipeline, pair, grade, clock.now());
    if (isLeft) return false;
  }
}

async function recordDrift(
  { db, logger }: Context,
  pipeline: string,
  { identity, since, changedAt }: JudgePanel,
  { shift, low, high, pairs, differing, verdict }: JudgeDrift,
  now: Date,
): Promise<void> {
  const hasChanged = verdict === 'changed';
  if (hasChanged) logger.warn('the judge does not grade as it did', { pipeline, shift, differing, pairs });
  const today = new Date(now.getTime() - (now.getTime() % DAY_MS));
  await db.measurements.record([
    {
      kind: 'value',
      pipeline,
      segment: ALL_SEGMENT,
      measure: JUDGE_DRIFT,
      // Of a whole day, so that a repeat takes its place.
      windowStart: new Date(today.getTime() - DAY_MS),
      windowEnd: today,
      measuredAt: now,
      value: shift,
      ciLow: low,
      ciHigh: high,
      ciMethod: 'student',
      n: pairs,
      details: { verdict, differing, judge: identity, since, changed_at: hasChanged ? now : changedAt },
    },
  ]);
}
