import type { Context } from '../core/context.ts';
import { HOUR_MS } from '../core/time.ts';
import { boundedSamples, type LatestMeasurement, type MeasuredRows, valueSamples } from '../measures/measurements.ts';
import { ageSeconds, INTERVALS_TO_TRUST } from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../platform/metrics/meter.ts';
import {
  DROP_EVIDENCE,
  type DropDetails,
  type FeedbackDetails,
  MIN_OPINIONS,
  POSITIVE_RATIO,
} from './measure-feedback.ts';
import { SAMPLES_READ, STAGED_QUERIES, type StagesDetails } from './measure-live-traffic.ts';
import { MAIN_LANGUAGE, MALFORMED, PLAIN, QUERY_LENGTH, REPEATED_QUERIES, TOP_QUERY } from './measure-query-mix.ts';
import { episodeMeasures } from './rules/episodes.ts';
import { positiveRatio } from './rules/feedback/sentiment.ts';
import { liveMeasures, valueWithin } from './rules/live-measures.ts';

interface LiveSchedule {
  /** Configured pipelines; measurements of other pipelines are not exported. */
  readonly pipelines: readonly string[];
  /** Longest interval between two scheduled measurements. */
  readonly intervalSeconds: number;
}

/** Returns the gauges of live traffic and feedback; omits measurements that are too old. */
export function liveGauges({ pipelines, intervalSeconds }: LiveSchedule, { measurements }: MeasuredRows): GaugesAt {
  const watched = new Set(pipelines);
  const own = measurements.filter(({ pipeline }) => watched.has(pipeline));
  return (now) => {
    const isTrusted: IsTrusted = ({ measuredAt }) =>
      ageSeconds(measuredAt, now) <= INTERVALS_TO_TRUST * intervalSeconds;
    return own.flatMap((one) => samplesOf.get(one.measure)?.(one, isTrusted) ?? []);
  };
}

type IsTrusted = (last: { readonly measuredAt: Date }) => boolean;

function measureSamples(
  { pipeline, segment, measure, newest, gap }: LatestMeasurement,
  isTrusted: IsTrusted,
): GaugeSample[] {
  const labels = { pipeline, segment };
  if (gap !== null) {
    if (!isTrusted(gap)) return [];
    return [sample('recalld_live_measure_no_data', { ...labels, measure, reason: gap.reason }, 1)];
  }
  if (newest === null || !isTrusted(newest)) return [];
  return [
    ...valueSamples({ pipeline, segment, measure, newest }),
    sample('recalld_live_measure_samples', { ...labels, measure }, newest.n),
  ];
}

/**
 * Exports the time of the last measurement even if its value is too old, because the alert on old measurements needs
 * it.
 */
function samplesReadSamples({ pipeline, newest }: LatestMeasurement, isTrusted: IsTrusted): GaugeSample[] {
  if (newest === null) return [];
  const measuredAt = newest.measuredAt.getTime() / 1000;
  const last = sample('recalld_live_measure_last_success_timestamp_seconds', { pipeline }, measuredAt);
  if (!isTrusted(newest)) return [last];
  return [last, sample('recalld_live_measure_samples_read_ratio', { pipeline }, newest.value)];
}

function stageSamples({ pipeline, newest, gap }: LatestMeasurement, isTrusted: IsTrusted): GaugeSample[] {
  if (gap !== null || newest === null || !isTrusted(newest)) return [];
  const { stages } = newest.details as Readonly<Record<string, unknown>> & StagesDetails;
  return stages.flatMap(({ name: stage, n, latencyP95Ms, documents, emptied, answered }) => {
    const labels = { pipeline, stage };
    const ifKnown = (name: GaugeSample['name'], known: typeof documents, unit = 1): GaugeSample[] =>
      known === null
        ? []
        : boundedSamples(name, labels, {
            value: known.value / unit,
            ciLow: known.ciLow / unit,
            ciHigh: known.ciHigh / unit,
          });
    return [
      sample('recalld_live_stage_queries', labels, n),
      ...ifKnown('recalld_live_stage_latency_p95_seconds', latencyP95Ms, 1000),
      ...ifKnown('recalld_live_stage_documents', documents),
      ...ifKnown('recalld_live_stage_emptied_ratio', emptied),
      ...ifKnown('recalld_live_stage_answered_ratio', answered),
    ];
  });
}

/** Returns 0 for a rule without violations in the last hour, so that its alert resolves. */
export async function readIsolationGauges({ db, clock, config }: Context): Promise<GaugesAt> {
  const rules = config.pipelines.flatMap(({ name: pipeline, isolation }) =>
    isolation.map(({ name: rule }) => ({ pipeline, rule })),
  );
  if (rules.length === 0) return () => [];
  const until = clock.now();
  const summaries = await db.live.isolation.summaries({ from: new Date(until.getTime() - HOUR_MS), until });
  const samples = rules.map((labels) => {
    const found = summaries.find(({ pipeline, rule }) => pipeline === labels.pipeline && rule === labels.rule);
    return sample('recalld_live_isolation_violations', labels, found?.violated ?? 0);
  });
  return () => samples;
}

const samplesOf: ReadonlyMap<string, (latest: LatestMeasurement, isTrusted: IsTrusted) => GaugeSample[]> = new Map([
  ...[
    ...liveMeasures,
    ...episodeMeasures,
    TOP_QUERY,
    REPEATED_QUERIES,
    MAIN_LANGUAGE,
    QUERY_LENGTH,
    MALFORMED,
    PLAIN,
  ].map((measure) => [measure, measureSamples] as const),
  [SAMPLES_READ, samplesReadSamples],
  [STAGED_QUERIES, stageSamples],
  [POSITIVE_RATIO, ratioSamples],
  [DROP_EVIDENCE, dropSamples],
]);

function dropSamples({ pipeline, newest, gap }: LatestMeasurement, isTrusted: IsTrusted): GaugeSample[] {
  if (gap !== null || newest === null || !isTrusted(newest)) return [];
  const { positive_ratio: latest, baseline_positive_ratio: baseline } = newest.details as DropDetails;
  return [
    sample('recalld_feedback_drop_evidence_ratio', { pipeline }, newest.value),
    sample('recalld_feedback_latest_positive_ratio', { pipeline }, latest),
    sample('recalld_feedback_baseline_positive_ratio', { pipeline }, baseline),
  ];
}

/** Exports separate values for all feedback, for explicit feedback and for implicit feedback. */
function ratioSamples(
  { pipeline, segment, measure, newest, gap }: LatestMeasurement,
  isTrusted: IsTrusted,
): GaugeSample[] {
  const last = gap ?? newest;
  if (last === null || !isTrusted(last)) return [];
  const { explicit, implicit } = last.details as FeedbackDetails;
  const all = {
    positive: explicit.positive + implicit.positive,
    negative: explicit.negative + implicit.negative,
  };
  const missing =
    gap === null ? [] : [sample('recalld_live_measure_no_data', { pipeline, segment, measure, reason: gap.reason }, 1)];
  const shares = Object.entries({ all, explicit, implicit }).flatMap(([basis, counts]) => {
    const labels = { pipeline, segment, basis };
    const n = counts.positive + counts.negative;
    const opinions = sample('recalld_feedback_opinions', labels, n);
    const outcome = positiveRatio(counts, MIN_OPINIONS);
    if (outcome.kind !== 'ratio') return [opinions];
    return [opinions, ...boundedSamples('recalld_feedback_positive_ratio', labels, valueWithin(outcome, 'wilson'))];
  });
  return [...missing, ...shares];
}
