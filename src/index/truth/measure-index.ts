/** Converts tallies to measurements, and measurements to gauges. Stale values are withheld. */

import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { currentValue, type LatestMeasurement, type MeasuredRows, valueSamples } from '../../measures/measurements.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../../platform/metrics/meter.ts';
import { gapNow } from '../probes/probes.ts';
import type { FollowedChange } from './documents-table.ts';
import type { IndexPlan } from './plan.ts';
import type { Phase, Round } from './rounds-table.ts';
import { type ArrivalLag, type FindingKind, findingKinds, type WrongShare } from './rules/findings.ts';
import { estimateLag, estimateShare, roundsSinceChange, sumBySegment, type Tally } from './rules/probe-estimates.ts';

const INDEX_LAG = 'index_lag_seconds';
const INDEX_LAG_MEDIAN = 'index_lag_median_seconds';

/**
 * Measure for each kind of finding. `ofDay` is true if the share is pooled over a day, because each round checks only a
 * small sample.
 */
const shareOfKind: Readonly<Record<FindingKind, { readonly measure: string; readonly ofDay: boolean }>> = {
  missing: { measure: 'index_missing_ratio', ofDay: false },
  unretrievable: { measure: 'index_not_retrievable_ratio', ofDay: true },
  orphaned: { measure: 'index_orphaned_ratio', ofDay: false },
  superseded: { measure: 'index_superseded_ratio', ofDay: false },
  other_model: { measure: 'index_other_model_ratio', ofDay: true },
};

const { missing, unretrievable, orphaned, superseded, other_model: otherModel } = shareOfKind;

/** Names of the index measures in display order. */
export const indexMeasureNames: readonly string[] = [
  ...findingKinds.map((kind) => shareOfKind[kind].measure),
  INDEX_LAG_MEDIAN,
  INDEX_LAG,
];

/** Measures that are computed over the last day, regardless of the interval between rounds. */
export const dailyIndexMeasures: ReadonlySet<string> = new Set([
  ...findingKinds.flatMap((kind) => (shareOfKind[kind].ofDay ? [shareOfKind[kind].measure] : [])),
  INDEX_LAG_MEDIAN,
  INDEX_LAG,
]);

/** Measures that have no data while a phase cannot be completed, keyed by phase. */
export const measuresOfPhase: Partial<Readonly<Record<Phase, readonly string[]>>> = {
  orphaned: [orphaned.measure],
  suspects: [orphaned.measure],
  missing: [missing.measure],
  chunks: [superseded.measure, unretrievable.measure],
  arrivals: [INDEX_LAG, INDEX_LAG_MEDIAN],
  models: [otherModel.measure],
};

/** The lag is computed only if there are at least this many changes in a day. */
const MIN_ARRIVALS = 20;

/** @param all true if every document was checked */
export async function measureIndex({ db, clock }: Context, plan: IndexPlan, round: Round, all: boolean): Promise<void> {
  const { pipeline, maxSegments } = plan;
  const now = clock.now();
  const dayAgo = new Date(now.getTime() - DAY_MS);
  const frame = {
    pipeline,
    windowStart: new Date(now.getTime() - Math.max(plan.intervalMs, HOUR_MS)),
    windowEnd: now,
    measuredAt: now,
  };
  const outcomes: MeasurementOutcome[] = [];
  // The store cannot return a chunk by its id, so recalld cannot recheck earlier findings. Therefore, deletes findings
  // from before the pooled rounds.
  await db.index.rounds.deleteUnseen(pipeline, 'other_model', await pooledSince(db, pipeline, 'other_model', dayAgo));
  const counts = await db.index.rounds.countFindings(pipeline);
  for (const [kind, { measure, ofDay }] of Object.entries(shareOfKind) as [
    FindingKind,
    (typeof shareOfKind)['missing'],
  ][]) {
    const from = ofDay ? await pooledSince(db, pipeline, kind, dayAgo) : round.startedAt;
    const tallies = await db.index.rounds.tallies(pipeline, kind, from);
    const isComplete = all && (kind === 'missing' || kind === 'orphaned');
    const known = counts.get(kind);
    for (const { segment, ...tally } of sumBySegment(tallies, maxSegments)) {
      const share = estimateShare(tally satisfies Tally, isComplete);
      if (share === null) continue;
      // Details contain no document ids; these are stored only with the findings.
      const details =
        segment === ALL_SEGMENT
          ? { known: known?.count ?? 0, since: known?.since ?? null, never_arrived: known?.neverArrived ?? 0 }
          : {};
      outcomes.push({ kind: 'value', ...frame, measure, segment, ...share, details });
    }
  }
  outcomes.push(...lagsOf(await db.index.documents.arrivals(pipeline, dayAgo), maxSegments, plan.lateAfterMs, frame));
  await db.measurements.record(outcomes);
}

/**
 * Returns the start time of the first pooled round. Normally, all rounds of the last day are pooled. If the share of
 * affected documents has changed, only the rounds since the last change are pooled. Returns `dayAgo` if the last day
 * has no rounds.
 */
async function pooledSince(db: Context['db'], pipeline: string, kind: FindingKind, dayAgo: Date): Promise<Date> {
  const rounds = await db.index.rounds.talliesByRound(pipeline, kind, dayAgo);
  return roundsSinceChange(rounds)[0]?.round ?? dayAgo;
}

type Frame = Pick<MeasurementOutcome, 'pipeline' | 'windowStart' | 'windowEnd' | 'measuredAt'>;

function lagsOf(
  arrivals: readonly FollowedChange[],
  maxSegments: number,
  lateAfterMs: number,
  frame: Frame,
): MeasurementOutcome[] {
  const named = new Map<string, Tally>();
  for (const { segment } of arrivals) {
    named.set(segment ?? '', { n: (named.get(segment ?? '')?.n ?? 0) + 1, found: 0 });
  }
  const kept = sumBySegment(named, maxSegments).map(({ segment }) => segment);
  return kept.flatMap((segment) => {
    const own = arrivals.filter((one) => {
      if (segment === ALL_SEGMENT) return true;
      return segment === 'other' ? one.segment !== null && !kept.includes(one.segment) : one.segment === segment;
    });
    if (own.length < MIN_ARRIVALS) return segment === ALL_SEGMENT ? tooFew(frame) : [];
    const about = { ...frame, segment, lateAfterMs };
    return [lag(own, 0.95, { ...about, measure: INDEX_LAG }), lag(own, 0.5, { ...about, measure: INDEX_LAG_MEDIAN })];
  });
}

function tooFew({ pipeline, measuredAt, windowStart }: Frame): MeasurementOutcome[] {
  return [INDEX_LAG, INDEX_LAG_MEDIAN].map((measure) => ({
    ...gapNow(pipeline, measure, measuredAt, 'too_few_changes'),
    windowStart,
  }));
}

function lag(
  arrivals: readonly FollowedChange[],
  share: number,
  {
    lateAfterMs,
    ...about
  }: Frame & { readonly measure: string; readonly segment: string; readonly lateAfterMs: number },
): MeasurementOutcome {
  const { value, bounds } = estimateLag(arrivals, share);
  const waiting = arrivals.filter(({ isWaiting }) => isWaiting);
  const overdue = waiting.filter(({ by }) => by > lateAfterMs / 1000).length;
  return {
    kind: 'value',
    ...about,
    value,
    ciLow: bounds?.low ?? null,
    ciHigh: bounds?.high ?? null,
    ciMethod: bounds === null ? null : 'brookmeyer-crowley',
    n: arrivals.length,
    details: {
      is_at_least: bounds === null,
      waiting: waiting.length,
      overdue,
      late_after_seconds: lateAfterMs / 1000,
    },
  };
}

/** Returns the latest shares over all documents, without stale values. */
export function wrongShares(latest: readonly LatestMeasurement[], now: Date): WrongShare[] {
  return findingKinds.flatMap((kind) => {
    const newest = ofAllDocuments(latest, shareOfKind[kind].measure, now);
    if (newest === null) return [];
    const { value, ciLow, n, details } = newest;
    const [known, neverArrived] = [Number(details['known'] ?? 0), Number(details['never_arrived'] ?? 0)];
    return [{ kind, value, ciLow: ciLow ?? value, n, known, neverArrived }];
  });
}

/** Returns the latest lag over all documents; null if no lag was measured, or if the latest lag is stale. */
export function arrivalLag(latest: readonly LatestMeasurement[], now: Date): ArrivalLag | null {
  const newest = ofAllDocuments(latest, INDEX_LAG, now);
  if (newest === null) return null;
  const { value, ciLow, n, details } = newest;
  const { waiting, overdue, late_after_seconds: allowed } = details;
  return {
    seconds: value,
    atLeast: ciLow ?? value,
    allowed: Number(allowed ?? Infinity),
    n,
    waiting: Number(waiting),
    overdue: Number(overdue),
  };
}

function ofAllDocuments(latest: readonly LatestMeasurement[], measure: string, now: Date): LatestMeasurement['newest'] {
  const found = latest.find((one) => one.measure === measure && one.segment === ALL_SEGMENT);
  return found === undefined ? null : currentValue(found, now);
}

export async function readIndexGauges(
  { db, indexPlans: plans }: Context,
  { measurements }: MeasuredRows,
): Promise<GaugesAt> {
  const pipelines = plans.map(({ pipeline }) => pipeline);
  if (pipelines.length === 0) return () => [];
  const own = measurements.filter(
    ({ pipeline, measure }) => pipelines.includes(pipeline) && indexMeasureNames.includes(measure),
  );
  const statuses = (await db.index.rounds.statuses()).filter(({ pipeline }) => pipelines.includes(pipeline));
  const late = plans.map(({ pipeline, lateAfterMs }) =>
    sample('recalld_index_late_after_seconds', { pipeline }, lateAfterMs / 1000),
  );
  return (now) => [
    ...late,
    ...own.flatMap((one) => (currentValue(one, now) === null ? [] : [...valueSamples(one), ...findingSamples(one)])),
    ...statuses.flatMap(({ pipeline, endedAt, documents }): GaugeSample[] => [
      ...(documents === null ? [] : [sample('recalld_index_documents', { pipeline }, documents)]),
      ...(endedAt === null
        ? []
        : [sample('recalld_index_check_last_success_timestamp_seconds', { pipeline }, endedAt.getTime() / 1000)]),
    ]),
  ];
}

function findingSamples({ pipeline, segment, measure, newest }: LatestMeasurement): GaugeSample[] {
  if (measure === INDEX_LAG && segment === ALL_SEGMENT && newest !== null)
    return [sample('recalld_index_changes_overdue', { pipeline }, Number(newest.details['overdue'] ?? 0))];
  const kind = findingKinds.find((one) => shareOfKind[one].measure === measure);
  if (kind === undefined || segment !== ALL_SEGMENT || newest === null) return [];
  return [sample('recalld_index_findings', { pipeline, kind }, Number(newest.details['known'] ?? 0))];
}
