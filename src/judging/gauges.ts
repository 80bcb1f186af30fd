/** Converts stored measurements of judged traffic to gauge samples. Stale values are withheld. */
import { currentValue, type LatestMeasurement, type MeasuredRows, valueSamples } from '../measures/measurements.ts';
import type { MeasurementSeries } from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../platform/metrics/meter.ts';
import { JUDGE_DRIFT } from './judge-drift.ts';
import {
  EPISODE_HIT_RATE,
  HUMAN_AGREEMENT,
  JUDGE_AGREEMENT,
  JUDGED_QUERIES,
  LIVE_DROP,
  POOL_GAP,
  REWRITE_GAIN,
} from './measure-judged.ts';
import type { JudgingPlan } from './plan.ts';
import { listedJudges } from './review-queue.ts';
import { dropStates } from './rules/judged-mean.ts';
import { measuresOfScore } from './rules/judged-measures.ts';

/** @param plans one for each pipeline with `judged`; measurements of other pipelines are ignored */
export function judgingGauges(plans: readonly JudgingPlan[], { measurements }: MeasuredRows): GaugesAt {
  const minAgreement = new Map(plans.map((plan) => [plan.pipeline, plan.minAgreement]));
  const own = measurements.filter(({ pipeline }) => minAgreement.has(pipeline));
  return (now) =>
    own.flatMap((one) => {
      const { measure } = one;
      if (measure === JUDGED_QUERIES) return countSamples(one, now);
      const value = currentValue(one, now);
      if (!scores.has(measure) || value === null || isCorrected(one, own)) return [];
      const limit = minAgreement.get(one.pipeline) ?? 0;
      return [...valueSamples(one), ...(extraSamples[measure]?.(one, value, limit) ?? [])];
    });
}

/** True for an uncorrected score that is replaced by a corrected score for the same or a later window. */
export function isCorrected(
  { measure, pipeline, segment, newest }: LatestMeasurement,
  all: readonly LatestMeasurement[],
): boolean {
  const pair = Object.values(measuresOfScore).find(([, uncorrected]) => uncorrected === measure);
  if (pair === undefined || newest === null) return false;
  const [measured] = pair;
  return all.some(
    (one) =>
      one.measure === measured &&
      one.pipeline === pipeline &&
      one.segment === segment &&
      one.gap === null &&
      one.newest !== null &&
      one.newest.measuredAt >= newest.measuredAt,
  );
}

/** Further gauge samples that are exported together with the value of a measure. */
const extraSamples: Readonly<
  Record<
    string,
    (series: MeasurementSeries, newest: NonNullable<LatestMeasurement['newest']>, minAgreement: number) => GaugeSample[]
  >
> = {
  [JUDGE_AGREEMENT]: ({ pipeline }, { details }, minAgreement) => [
    sample('recalld_judge_agreement_sessions', { pipeline }, Number(details['sessions'] ?? 0)),
    sample('recalld_judge_min_agreement', { pipeline }, minAgreement),
  ],
  [HUMAN_AGREEMENT]: ({ pipeline }, { details }) => [
    sample('recalld_human_agreement_sessions', { pipeline }, Number(details['sessions'] ?? 0)),
  ],
  [JUDGE_DRIFT]: ({ pipeline }, { n, details }) => {
    const pairs = sample('recalld_judge_panel_pairs', { pipeline }, n);
    const changedAt = details['changed_at'];
    if (typeof changedAt !== 'string') return [pairs];
    return [pairs, sample('recalld_judge_changed_timestamp_seconds', { pipeline }, Date.parse(changedAt) / 1000)];
  },
  [LIVE_DROP]: ({ pipeline }, { n, details }) => [
    sample('recalld_live_ndcg_drop_queries', { pipeline }, n),
    ...dropStates.map((state) =>
      sample('recalld_live_drop_state', { pipeline, state }, details['state'] === state ? 1 : 0),
    ),
  ],
  [EPISODE_HIT_RATE]: ({ pipeline, segment }, { n }) => [sample('recalld_episode_judged', { pipeline, segment }, n)],
  [REWRITE_GAIN]: ({ pipeline, segment }, { n }) => [sample('recalld_rewrite_judged', { pipeline, segment }, n)],
  [POOL_GAP]: ({ pipeline }, { n }) => [sample('recalld_live_ndcg_pool_gap_queries', { pipeline }, n)],
};

const scores = new Set<string>([...Object.values(measuresOfScore).flat(), ...Object.keys(extraSamples)]);

function countSamples(one: LatestMeasurement, now: Date): GaugeSample[] {
  const { pipeline, newest } = one;
  if (newest === null) return [];
  const measuredAt = newest.measuredAt.getTime() / 1000;
  const last = sample('recalld_live_judged_last_success_timestamp_seconds', { pipeline }, measuredAt);
  if (currentValue(one, now) === null) return [last];
  const count = (key: string): number => Number(newest.details[key] ?? 0);
  return [
    last,
    ...listedJudges.map((judge) => sample('recalld_live_judged_queries', { pipeline, judge }, count(judge))),
    sample('recalld_live_judged_open_queries', { pipeline }, count('open')),
    sample('recalld_live_judged_human_sessions', { pipeline }, count('human_sessions')),
  ];
}
