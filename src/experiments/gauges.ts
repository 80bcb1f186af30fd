/** Metrics of shadows and variants. Stale values are not exported. */
import type { Context } from '../core/context.ts';
import { boundedSamples } from '../measures/measurements.ts';
import { ageSeconds } from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../platform/metrics/meter.ts';
import { readShadow, readVariants } from './read-reports.ts';
import type { Candidate, ShadowReport, VariantsReport } from './report.ts';
import { splitVerdicts } from './rules/arms.ts';
import { experimentVerdicts } from './rules/verdict.ts';

/**
 * Maximum age of exported data. New data arrives once a day: recalld sums a day of live traffic at most seven hours
 * after the day ends.
 */
const TRUST_SECONDS = 3.3 * 86_400;

export async function readExperimentGauges(context: Context): Promise<GaugesAt> {
  const shadows: ShadowReport[] = [];
  for (const pipeline of context.pipelines)
    for (const shadow of pipeline.shadows) shadows.push(await readShadow(context, pipeline, shadow));
  const variants: VariantsReport[] = [];
  for (const plan of context.variantPlans) variants.push(await readVariants(context, plan));
  return (now) => [
    ...shadows.flatMap((report) => [...comparisonSamples(report.pipeline, report, now), ...liveSamples(report)]),
    ...variants.flatMap((report) => [
      ...report.arms.flatMap((arm) => comparisonSamples(report.pipeline, arm, now)),
      ...splitSamples(report),
    ]),
  ];
}

function comparisonSamples(pipeline: string, { name: candidate, comparisons }: Candidate, now: Date): GaugeSample[] {
  return comparisons.flatMap((one) => {
    const { source, measure, difference: value, ci_low: ciLow, ci_high: ciHigh, measured_until: until } = one;
    const labels = { pipeline, candidate, source, measure };
    const isOld = until === null || ageSeconds(new Date(until), now) > TRUST_SECONDS;
    return [
      ...experimentVerdicts.map((verdict) =>
        sample('recalld_experiment_verdict', { ...labels, verdict }, verdict === one.verdict ? 1 : 0),
      ),
      sample('recalld_experiment_n', labels, one.n),
      ...(value === null || isOld
        ? []
        : boundedSamples('recalld_experiment_difference', labels, { value, ciLow, ciHigh })),
    ];
  });
}

function liveSamples({ pipeline, name: shadow, live: { overlap, changed } }: ShadowReport): GaugeSample[] {
  const labels = { pipeline, shadow };
  const shares = [
    ['recalld_shadow_overlap', overlap],
    ['recalld_shadow_changed_ratio', changed],
  ] as const;
  return [
    ...shares.flatMap(([name, share]) =>
      share === null
        ? []
        : boundedSamples(name, labels, { value: share.value, ciLow: share.ci_low, ciHigh: share.ci_high }),
    ),
    sample('recalld_shadow_live_questions', labels, overlap?.n ?? 0),
  ];
}

function splitSamples({ pipeline, split }: VariantsReport): GaugeSample[] {
  return [
    ...splitVerdicts.map((verdict) =>
      sample('recalld_variant_split', { pipeline, verdict }, verdict === split.verdict ? 1 : 0),
    ),
    ...split.arms.map(({ name: arm, sessions }) => sample('recalld_variant_sessions', { pipeline, arm }, sessions)),
  ];
}
