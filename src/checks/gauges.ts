/** States of checks -> metric samples. */

import type { MetricName } from '../metrics/catalogue.ts';
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
  const { severity, threshold, verdict, kind, outageUntil } = check;
  const labels = { pipeline: check.pipeline, check: check.name };
  const isBad = verdict !== 'ok';
  const known = {
    recalld_check_value: check.value,
    recalld_check_value_ci_low: check.ciLow,
    recalld_check_value_ci_high: check.ciHigh,
    recalld_check_n: check.n,
    recalld_check_before: isBad ? check.before : null,
    recalld_check_since_timestamp_seconds: isBad ? seconds(alarmSince(check)) : null,
    recalld_check_last_evaluation_timestamp_seconds: seconds(check.judgedAt),
  } as const satisfies { readonly [Name in MetricName]?: number | null };
  return [
    sample('recalld_threshold', { ...labels, severity }, threshold),
    sample('recalld_check_info', { ...labels, kind, ...alarmWords(check) }, 1),
    ...verdicts.map((state) => sample('recalld_check_state', { ...labels, state }, state === verdict ? 1 : 0)),
    sample('recalld_check_quiet', labels, check.isQuiet ? 1 : 0),
    sample('recalld_check_outage', labels, outageUntil === null ? 0 : 1),
    ...Object.entries(known).flatMap(([name, value]) =>
      value === null ? [] : [sample(name as keyof typeof known, labels, value)],
    ),
  ];
}

function seconds(at: Date | null): number | null {
  return at === null ? null : at.getTime() / 1000;
}
