/** Lets the judge grade fixed pairs again every day, to detect that its model has changed under the same name. */
import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import { askJudge, DeferralError, type ModelRound, type Round } from './grade-queries.ts';
import type { Judge } from './judge.ts';
import type { JudgePanel } from './judge-panel-table.ts';
import { type JudgeDrift, judgeDrift } from './rules/agreement.ts';

export const JUDGE_DRIFT = 'judge_drift';

const LEASE_MS = 5 * MINUTE_MS;

/** The current judge. `since`: start of the period without a detected change in the judge's grades. */
export interface CurrentJudge {
  readonly judge: Judge;
  readonly since: Date;
}

/**
 * Fills the panel, grades the pairs due today and, once all are graded, compares today's grades with the first grades.
 * A changed judge is recorded as a deployment, and its grades are stored separately from earlier grades. Deferred pairs
 * wait for the next round. A killed worker loses at most one call.
 *
 * @returns null if there is no model judge
 * @throws the reason of `signal`, and RecalldError database_unreachable
 */
export async function checkJudgeDrift({ judge, ...rest }: Round): Promise<CurrentJudge | null> {
  if (judge === null) return null;
  const round: ModelRound = { ...rest, judge };
  const { clock } = round;
  const { panels } = round.db.judging;
  const { pipeline, queriesPerDay, depth } = round.plan;
  const panel = await panels.current(pipeline, judge.fingerprint, clock.now());
  await recordJudgeDeployment(round, panel);
  await panels.fill(pipeline, panel.identity, queriesPerDay * depth, clock.now());
  if (panel.isCompared || !(await regradePanel(round))) return asOf(judge, panel);
  const now = clock.now();
  const drift = judgeDrift((await panels.gradedToday(pipeline, now)) ?? []);
  if (drift === null) return asOf(judge, panel);
  await recordDrift(round, panel, drift, now);
  await panels.finalizeDay(pipeline, drift.verdict === 'changed', now);
  const seen = await panels.current(pipeline, judge.fingerprint, now);
  await recordJudgeDeployment(round, seen);
  return asOf(judge, seen);
}

const asOf = (judge: Judge, { identity, since }: JudgePanel): CurrentJudge => ({
  judge: { ...judge, fingerprint: identity },
  since,
});

/** Records a deployment if the judge differs from the last judge seen. Idempotent. */
async function recordJudgeDeployment(
  { db, clock, logger, plan: { pipeline }, judge: { name, fingerprint } }: ModelRound,
  { identity, since }: JudgePanel,
): Promise<void> {
  const deployment = await db.live.deployments.observe({
    pipeline,
    component: 'judge',
    fingerprint: identity,
    traits: { judge: `${name} ${fingerprint}`, grades: `as of ${since.toISOString().slice(0, 10)}` },
    at: clock.now(),
  });
  if (deployment !== null)
    logger.warn('the judge has changed: recorded a deployment', { pipeline, changes: deployment.changes });
}

/** @returns true once all pairs due today are graded */
async function regradePanel(round: ModelRound): Promise<boolean> {
  const { clock, signal } = round;
  const { panels } = round.db.judging;
  const { pipeline } = round.plan;
  for (;;) {
    signal.throwIfAborted();
    const now = clock.now();
    const pair = await panels.claim(pipeline, now, new Date(now.getTime() + LEASE_MS));
    if (pair === null) return (await panels.gradedToday(pipeline, clock.now())) !== null;
    let grade: number | null = null;
    try {
      const answer = await askJudge(round, pair);
      grade = answer.kind === 'grade' ? answer.grade : 0;
    } catch (error) {
      if (!(error instanceof DeferralError)) throw error;
    }
    await panels.record(pipeline, pair, grade, clock.now());
    if (grade === null) return false;
  }
}

async function recordDrift(
  { db, logger, plan: { pipeline } }: Round,
  { identity, since, changedAt }: JudgePanel,
  { shift, low, high, pairs, differing, verdict }: JudgeDrift,
  now: Date,
): Promise<void> {
  const hasChanged = verdict === 'changed';
  if (hasChanged)
    logger.warn('judge drift detected: fixed pairs now get different grades', { pipeline, shift, differing, pairs });
  const today = new Date(now.getTime() - (now.getTime() % DAY_MS));
  await db.measurements.record([
    {
      kind: 'value',
      pipeline,
      segment: ALL_SEGMENT,
      measure: JUDGE_DRIFT,
      // The window is a whole day, so that a repeated measurement replaces the first measurement of that day.
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
