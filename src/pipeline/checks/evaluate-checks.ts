/** Judges every check on what is stored, and keeps the history of their verdicts. */
import { settle } from '../../core/checks/standing.ts';
import { judgeThreshold } from '../../core/checks/threshold.ts';
import type { CheckHistory, CheckStanding, CheckStep, StoredStanding } from '../../ports/check-history.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DensityStates } from '../../ports/density-states.ts';
import type { GoldenRuns } from '../../ports/golden-runs.ts';
import type { Measurements } from '../../ports/measurements.ts';
import type { Logger } from '../../ports/telemetry.ts';
import type { DensityPlan } from '../density/plan.ts';
import { densityStates } from '../density/publish-density.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { type CheckState, checkStates } from './check-states.ts';
import { type ReadingFacts, readingsOf } from './readings.ts';

export interface EvaluateChecksDeps extends Pick<ReadingFacts, 'intervalSeconds' | 'liveIntervalSeconds'> {
  readonly pipelines: readonly WatchedPipeline[];
  readonly densityPlans: readonly DensityPlan[];
  readonly densityStates: Pick<DensityStates, 'all'>;
  readonly runs: Pick<GoldenRuns, 'latest'>;
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly history: CheckHistory;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Takes one step of every check. Thresholds are judged here; golden runs and the watch over density come to verdicts of
 * their own, whose changes are written down. Doing it again, or on several replicas, changes nothing more.
 */
export async function evaluateChecks(deps: EvaluateChecksDeps): Promise<void> {
  const now = deps.clock.now();
  const [standings, latest, measurements, density] = await Promise.all([
    deps.history.standings(),
    deps.runs.latest(),
    deps.measurements.latest(now),
    deps.densityStates.all(),
  ]);
  const facts = { ...deps, latest, measurements };
  const previousOf = (pipeline: string, name: string): StoredStanding | null =>
    standings.find((one) => one.pipeline === pipeline && one.name === name) ?? null;
  const judged = deps.pipelines.flatMap((pipeline) =>
    pipeline.thresholds.map((check): CheckStep => {
      const { readings, evidenceAt } = readingsOf(check, pipeline, facts, now);
      const found = judgeThreshold(check, readings);
      const previous = previousOf(pipeline.name, found.name);
      const standing = settle(check, previous, found, evidenceAt, now);
      return stepOf({ ...found, ...standing, pipeline: pipeline.name, evaluatedAt: now }, previous);
    }),
  );
  const followed = [
    ...checkStates(deps.pipelines, latest, deps.intervalSeconds, now),
    ...densityStates(deps.densityPlans, density, measurements, now),
  ].map((state) => follow(state, previousOf(state.pipeline, state.name), now));
  for (const { standing, from } of await deps.history.advance([...judged, ...followed])) {
    if (standing.verdict === from) continue;
    const { pipeline, name: check, verdict, explanation } = standing;
    deps.logger.info('a check has changed', { pipeline, check, from, to: verdict, explanation });
  }
}

function stepOf(standing: CheckStanding, previous: StoredStanding | null): CheckStep {
  return { standing, revision: previous?.revision ?? 0, from: previous?.verdict ?? null };
}

/** The verdict of somebody else, as a step. */
function follow(state: CheckState, previous: StoredStanding | null, now: Date): CheckStep {
  const { pipeline, name, severity, threshold, verdict, judged, evaluatedAt, isQuiet } = state;
  const standing: CheckStanding = {
    pipeline,
    name,
    severity,
    threshold,
    verdict,
    since: previous?.verdict === verdict ? previous.since : now,
    lastKnown: verdict === 'no_data' ? (previous?.lastKnown ?? null) : verdict,
    candidate: null,
    seen: 0,
    value: judged?.value ?? null,
    segment: null,
    explanation: explanationOf(state),
    isQuiet,
    evidenceAt: evaluatedAt,
    evaluatedAt: now,
  };
  return stepOf(standing, previous);
}

function explanationOf({ judged, isTooOld }: CheckState): string {
  if (judged === null) return 'Nothing has judged it yet.';
  return isTooOld ? `What judged it last is too old to trust: ${judged.explanation}` : judged.explanation;
}
