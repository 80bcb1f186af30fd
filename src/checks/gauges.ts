/** States of checks -> metric samples. */

import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import type { Verdict } from '../model.ts';
import { type ReadChecksDeps, statesOf } from './check-store.ts';
import type { CheckState } from './rules/check-state.ts';

const verdicts: readonly Verdict[] = ['ok', 'warning', 'critical', 'no_data'];

/** Every check of the config with its state; one that nobody has judged of late is `no_data`. */
export async function readCheckGauges({ checkStore, ...watched }: Omit<ReadChecksDeps, 'clock'>): Promise<GaugesAt> {
  const standings = await checkStore.standings();
  return (now) => statesOf(watched, standings, now).flatMap(gaugesOf);
}

function gaugesOf({
  pipeline,
  name: check,
  severity,
  threshold,
  verdict,
  isQuiet,
  judgedAt,
}: CheckState): GaugeSample[] {
  const labels = { pipeline, check };
  return [
    sample('recalld_threshold', { ...labels, severity }, threshold),
    ...verdicts.map((state) => sample('recalld_check_state', { ...labels, state }, state === verdict ? 1 : 0)),
    sample('recalld_check_quiet', labels, isQuiet ? 1 : 0),
    ...(judgedAt === null
      ? []
      : [sample('recalld_check_last_evaluation_timestamp_seconds', labels, judgedAt.getTime() / 1000)]),
  ];
}
