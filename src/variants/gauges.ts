/** What is known of variants -> samples of gauges. What is too old to trust is withheld. */
import { boundedSamples } from '../measures/gauges.ts';
import { ageSeconds } from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import { splitVerdicts, variantVerdicts } from './rules/compare-arms.ts';
import { type ReadVariantsDeps, readVariants, type VariantReport } from './variants-reads.ts';

/** A day is summed six hours after its end, so that the last one is up to 30 hours and three days old. */
const TRUST_SECONDS = 4.25 * 86_400;

export async function readVariantGauges(deps: ReadVariantsDeps): Promise<GaugesAt> {
  const reports: VariantReport[] = [];
  for (const plan of deps.variantPlans) reports.push(await readVariants(deps, plan));
  return (now) => reports.flatMap((report) => samplesOf(report, now));
}

function samplesOf({ plan: { pipeline }, split, arms, days }: VariantReport, now: Date): GaugeSample[] {
  const isOld = days === null || ageSeconds(new Date(days.last), now) > TRUST_SECONDS;
  return [
    ...splitVerdicts.map((verdict) =>
      sample('recalld_variant_split', { pipeline, verdict }, verdict === split.verdict ? 1 : 0),
    ),
    ...split.arms.map(({ name: arm, sessions }) => sample('recalld_variant_sessions', { pipeline, arm }, sessions)),
    ...arms.flatMap(({ name: arm, comparisons }) =>
      comparisons.flatMap(({ measure, verdict: found, difference }) => {
        const labels = { pipeline, arm, measure };
        return [
          ...variantVerdicts.map((verdict) =>
            sample('recalld_variant_verdict', { ...labels, verdict }, verdict === found ? 1 : 0),
          ),
          ...(difference === null || found === 'withheld' || isOld
            ? []
            : boundedSamples('recalld_variant_difference', labels, {
                value: difference.value,
                ciLow: difference.low,
                ciHigh: difference.high,
              })),
        ];
      }),
    ),
  ];
}
