/** Stored measurements of feedback -> metric samples. What is too old to trust is withheld. */

import type { MeasuredRows } from '../measures/gauges.ts';
import type { LatestMeasurement } from '../measures/ports/measurements.ts';
import { ageSeconds, INTERVALS_TO_TRUST } from '../measures/rules/trust.ts';
import type { GaugesAt } from '../metrics/meter.ts';
import { type GaugeSample, sample } from '../metrics/meter.ts';
import type { FeedbackDetails } from './measure-feedback.ts';
import type { LiveGaugesSettings } from './publish-live.ts';
import { positiveRatio } from './rules/feedback/positive-ratio.ts';

/** Every gauge of feedback, by all of it and by explicit and implicit feedback apart. */
export function feedbackGauges(
  { pipelines, intervalSeconds }: LiveGaugesSettings,
  { measurements }: MeasuredRows,
): GaugesAt {
  const own = measurements.filter(
    ({ pipeline, measure }) => measure === 'feedback_positive_ratio' && pipelines.includes(pipeline),
  );
  return (now) => own.flatMap((one) => ratioSamples(one, now, INTERVALS_TO_TRUST * intervalSeconds));
}

function ratioSamples(
  { pipeline, segment, newest, gap }: LatestMeasurement,
  now: Date,
  longestSeconds: number,
): GaugeSample[] {
  const last = gap ?? newest;
  if (last === null || ageSeconds(last.measuredAt, now) > longestSeconds) return [];
  if (!isFeedback(last.details)) return [];
  const { explicit, implicit } = last.details;
  const all = {
    positive: explicit.positive + implicit.positive,
    negative: explicit.negative + implicit.negative,
  };
  return Object.entries({ all, explicit, implicit }).flatMap(([basis, counts]) => {
    const labels = { pipeline, segment, basis };
    const outcome = positiveRatio(counts);
    if (outcome.kind !== 'ratio') return [sample('recalld_feedback_opinions', labels, 0)];
    return [
      sample('recalld_feedback_opinions', labels, outcome.n),
      sample('recalld_feedback_positive_ratio', labels, outcome.value),
      sample('recalld_feedback_positive_ratio_ci_low', labels, outcome.low),
      sample('recalld_feedback_positive_ratio_ci_high', labels, outcome.high),
    ];
  });
}

/** What another version of us measured may lack them. */
function isFeedback(details: Readonly<Record<string, unknown>>): details is FeedbackDetails {
  return 'explicit' in details && 'implicit' in details;
}
