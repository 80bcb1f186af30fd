/** States of checks -> metric samples. */

import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import type { Verdict } from '../model.ts';
import { type ReadChecksDeps, statesOf } from './check-store.ts';
import { alarmSince, alarmWords } from './rules/alarm-text.ts';
import type { CheckState } from './rules/check-state.ts';

const verdicts: readonly Verdict[] = ['ok', 'warning', 'critical', 'no_data'];

/** Every check of the config with its state; one that nobody has judged of late is `no_data`. */
export async function readCheckGauges({ checkStore, ...watched }: Omit<ReadChecksDeps, 'clock'>): Promise<GaugesAt> {
  const standings = await checkStore.standings();
  return (now) => statesOf(watched, standings, now).flatMap(gaugesOf);
}

export function gaugesOf(check: CheckState): GaugeSample[] {
  const { severity, threshold, verdict, kind, outageUntil, value, ciLow, ciHigh, n } = check;
  const labels = { pipeline: check.pipeline, check: check.name };
  const words = alarmWords(check);
  const isTime = words.unit === 'seconds';
  const valued = isTime ? 'recalld_check_value_seconds' : 'recalld_check_value';
  const isBad = verdict !== 'ok';
  const known = (name: NumberOfACheck, number: number | null): GaugeSample[] =>
    number === null ? [] : [sample(name, labels, number)];
  return [
    sample(isTime ? 'recalld_threshold_seconds' : 'recalld_threshold', { ...labels, severity }, threshold),
    sample('recalld_check_info', { ...labels, kind, ...words }, 1),
    ...verdicts.map((state) => sample('recalld_check_state', { ...labels, state }, state === verdict ? 1 : 0)),
    sample('recalld_check_quiet', labels, check.isQuiet ? 1 : 0),
    sample('recalld_check_outage', labels, outageUntil === null ? 0 : 1),
    ...known(valued, value),
    ...known(`${valued}_ci_low`, ciLow),
    ...known(`${valued}_ci_high`, ciHigh),
    ...known('recalld_check_n', n),
    ...known(isTime ? 'recalld_check_before_seconds' : 'recalld_check_before', isBad ? check.before : null),
    ...known('recalld_check_since_timestamp_seconds', isBad ? seconds(alarmSince(check)) : null),
    ...known('recalld_check_last_evaluation_timestamp_seconds', seconds(check.judgedAt)),
  ];
}

type Unit = '' | '_seconds';
type NumberOfACheck =
  | `recalld_check_value${Unit}${'' | '_ci_low' | '_ci_high'}`
  | `recalld_check_before${Unit}`
  | `recalld_check_${'n' | 'since_timestamp_seconds' | 'last_evaluation_timestamp_seconds'}`;

function seconds(at: Date | null): number | null {
  return at === null ? null : at.getTime() / 1000;
}
