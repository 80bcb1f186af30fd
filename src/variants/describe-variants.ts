/** What a comparison of variants says, as sentences for people and as JSON. */
import { count } from '../console/format.ts';
import type { SummedRatio } from '../stats/session-sums.ts';
import { percent } from '../text/spelling.ts';
import { type ArmComparison, FALSE_CALLS, type Split, type VariantVerdict } from './rules/compare-arms.ts';
import type { VariantMeasure } from './rules/variant-day.ts';
import type { VariantReport } from './variants-reads.ts';

export const measureTitles: Readonly<Record<VariantMeasure, string>> = {
  positive_feedback: 'Positive feedback',
  clicked_queries: 'Queries with a click',
  relevance: 'Judged nDCG',
};

export const verdictSentences: Readonly<Record<VariantVerdict, string>> = {
  worse: 'It is worse.',
  better: 'It is better.',
  alike: 'It is as good: no difference that matters is left possible.',
  undecided: 'Nothing is decided: neither a difference that matters nor its absence is shown.',
  no_data: 'Too few sessions are known to tell.',
  withheld: 'Nothing is said while the split is not what was declared.',
};

export function splitSentence({ verdict, calledOn, arms }: Split): string {
  const found = arms
    .map(({ name, sessions, share, declared }) =>
      share === null
        ? `${name} none`
        : `${name} ${count(sessions)} (${percent(share, 2)}, declared ${percent(declared, 2)})`,
    )
    .join(', ');
  switch (verdict) {
    case 'mismatch':
      return `The split is not what was declared, as was seen on ${calledOn ?? ''}: sessions of ${found}. Find out which sessions are missing; until then no difference between the arms can be trusted.`;
    case 'as_declared':
      return `The split is as declared: sessions of ${found}.`;
    case 'no_data':
      return 'No session of an arm was counted yet; the first day is summed six hours after its end.';
  }
}

/** Sessions that no arm counts; none when there is nothing to say. */
export function leftOutSentences({ mixed, unnamed, plan }: VariantReport): string[] {
  return [
    ...(mixed === 0 ? [] : [`${count(mixed)} sessions saw more than one arm and count for none.`]),
    ...(unnamed === 0
      ? []
      : [`${count(unnamed)} sessions have a value of \`${plan.tag}\` that is no arm of the config.`]),
  ];
}

const ratioJson = (ratio: SummedRatio | null) =>
  ratio === null ? null : { value: ratio.value, standard_error: Math.sqrt(ratio.variance), n: ratio.sessions };

function comparisonJson({ measure, verdict, control, arm, difference, calledOn }: ArmComparison) {
  return {
    measure,
    verdict,
    control: ratioJson(control),
    arm: ratioJson(arm),
    difference: difference?.value ?? null,
    ci_low: difference?.low ?? null,
    ci_high: difference?.high ?? null,
    called_on: calledOn,
  };
}

export function variantsJson(report: VariantReport) {
  const { plan, split, arms, days, mixed, unnamed } = report;
  return {
    pipeline: plan.pipeline,
    tag: plan.tag,
    first_day: days?.first ?? null,
    last_day: days?.last ?? null,
    split: {
      verdict: split.verdict,
      explanation: splitSentence(split),
      called_on: split.calledOn,
      arms: split.arms,
      mixed_sessions: mixed,
      unnamed_sessions: unnamed,
    },
    control: plan.arms[0]?.name ?? '',
    difference: plan.difference,
    confidence: 1 - FALSE_CALLS,
    arms: arms.map(({ name, verdict, comparisons }) => ({
      name,
      verdict,
      explanation: verdictSentences[verdict],
      measures: comparisons.map(comparisonJson),
    })),
  };
}
