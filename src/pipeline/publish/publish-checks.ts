/** States of checks -> metric samples. */
import type { Verdict } from '../../core/model.ts';
import type { CheckHistory } from '../../ports/check-history.ts';
import type { Clock } from '../../ports/clock.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';
import { type CheckState, thresholdStates } from '../checks/check-states.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';

const verdicts: readonly Verdict[] = ['ok', 'warning', 'critical', 'no_data'];

export interface CheckGaugesDeps {
  readonly history: Pick<CheckHistory, 'standings'>;
  readonly clock: Clock;
  readonly pipelines: readonly Pick<WatchedPipeline, 'name' | 'thresholds'>[];
}

/** Every threshold of the config with its state; one that nobody has judged of late is `no_data`. */
export async function readCheckGauges({
  history,
  clock,
  pipelines,
}: CheckGaugesDeps): Promise<GaugeSample[]> {
  if (pipelines.every(({ thresholds }) => thresholds.length === 0)) return [];
  const states = thresholdStates(pipelines, await history.standings(), clock.now());
  return states.flatMap(checkStateSamples);
}

/** The gauges of one check. */
export function checkStateSamples(state: CheckState): GaugeSample[] {
  const { pipeline, name: check, severity, threshold } = state;
  return [sample('recalld_threshold', { pipeline, check, severity }, threshold), ...verdictSamples(state)];
}

/** Its verdict alone, where the threshold is told apart. */
export function verdictSamples({
  pipeline,
  name: check,
  verdict,
  isQuiet,
  evaluatedAt,
}: CheckState): GaugeSample[] {
  const labels = { pipeline, check };
  return [
    ...verdicts.map((state) =>
      sample('recalld_check_state', { ...labels, state }, state === verdict ? 1 : 0),
    ),
    sample('recalld_check_quiet', labels, isQuiet ? 1 : 0),
    ...(evaluatedAt === null
      ? []
      : [sample('recalld_check_last_evaluation_timestamp_seconds', labels, evaluatedAt.getTime() / 1000)]),
  ];
}
