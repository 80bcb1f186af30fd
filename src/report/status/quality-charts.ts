/** The four overview charts of a pipeline: golden quality, live relevance, coverage and errors. */
import { levelOf } from '../../checks/edge/check-table.ts';
import type { CheckState } from '../../checks/rules/check-state.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { densityLevels } from '../../density/edge/sections.ts';
import { goldenChart } from '../../golden/edge/pages/golden-page.ts';
import type { Measure } from '../../math/ir/metric-key.ts';
import { measureRow } from '../../measures/rules/measure-table.ts';
import type { TimeRange } from '../console/links.ts';
import { shownFrom, type TrendChart, type TrendPoint } from '../model/charts.ts';
import { measureChart } from '../model/measures.ts';
import type { PipelineStatus } from './pipeline-status.ts';

/** Measures of live relevance: judged scores, then feedback, then clicks. The first measure with values is shown. */
const relevanceMeasures = ['live_hit_rate', 'live_ndcg', 'feedback_positive_ratio', 'clicked_query_ratio'] as const;
const COVERAGE = 'query_uncovered_ratio';
const ERRORS = 'error_ratio';
const LATENCY = 'retriever_latency_p95_seconds';

export type Quality = Awaited<ReturnType<typeof readQuality>>;

export async function readQuality({ reads }: Context, status: PipelineStatus, { from, until }: TimeRange) {
  const { pipeline, checks } = status;
  const set = headlineSet(status);
  const key = goldenMeasure(checks, set);
  const [scores, measured, latency] = await Promise.all([
    set === null ? null : reads.golden.runReads.trends({ pipeline, goldenSet: set, from, until, measures: [key] }),
    reads.measurements.trends(
      { pipeline, segment: ALL_SEGMENT, measures: [...relevanceMeasures, COVERAGE, ERRORS] },
      from,
      until,
    ),
    set === null || !isLatencyFiring(checks)
      ? null
      : reads.measurements.trends({ pipeline, segment: `golden_set=${set}`, measures: [LATENCY] }, from, until),
  ]);
  return { set, measure: key, scores: scores?.get(key) ?? [], measured, latency: latency?.get(LATENCY) ?? null };
}

/** Returns the golden set with a failing check, or the first golden set that has a completed run. */
function headlineSet({ golden, checks }: PipelineStatus): string | null {
  const failing = checks.find(({ goldenSet, verdict }) => goldenSet !== null && isFiring(verdict))?.goldenSet;
  return failing ?? golden.find(({ completed }) => completed !== null)?.goldenSet ?? golden[0]?.goldenSet ?? null;
}

function isFiring(verdict: CheckState['verdict']): boolean {
  return verdict === 'critical' || verdict === 'warning';
}

/**
 * Returns the measure of the failing check. If no check fails, returns a measure that has a threshold, because the team
 * chose to watch this measure. If no measure has a threshold, returns nDCG.
 */
function goldenMeasure(checks: readonly CheckState[], set: string | null): Measure {
  const own = checks.filter(({ kind, goldenSet }) => (kind === 'floor' || kind === 'regression') && goldenSet === set);
  const check = own.find(({ verdict }) => isFiring(verdict)) ?? own.find(({ kind }) => kind === 'floor');
  return (check?.measure.split('@')[0] ?? 'ndcg') as Measure;
}

/** Returns true while only the latency check fails; the chart then shows latency instead of errors. */
function isLatencyFiring(checks: readonly CheckState[]): boolean {
  const fires = (measure: string) => checks.some((check) => check.measure === measure && isFiring(check.verdict));
  return fires(LATENCY) && !fires(ERRORS);
}

/** @param rest properties that all four charts share, such as their size and the events of the pipeline */
export function qualityCharts(
  { pipeline, checks, golden }: PipelineStatus,
  { set, measure, scores, measured, latency }: Quality,
  { from, until }: TimeRange,
  rest: Partial<TrendChart>,
): TrendChart[] {
  const pointsOf = (name: string): readonly TrendPoint[] => measured.get(name) ?? [];
  const relevance =
    relevanceMeasures.find((name) => checks.some((check) => check.measure === name && isFiring(check.verdict))) ??
    relevanceMeasures.find((name) => pointsOf(name).length > 0) ??
    relevanceMeasures[0];
  const own = latency === null ? [relevance, COVERAGE, ERRORS] : [relevance, COVERAGE];
  const axis = { from: shownFrom(from, until, [scores, ...own.map(pointsOf), latency ?? []].flat()), until };
  const id = (name: string) => `${pipeline}-${name}`;
  const cutoffs = golden.find(({ goldenSet }) => goldenSet === set)?.completed?.scores.map(({ k }) => k) ?? [];
  const k = Math.max(0, ...cutoffs);
  const ofGolden = goldenChart(id('golden'), measure, k, scores, {
    ...rest,
    ...axis,
    levels: checks.flatMap((check) =>
      check.kind === 'floor' && check.goldenSet === set && check.measure === `${measure}@${k}` ? [levelOf(check)] : [],
    ),
    empty: set === null ? 'This pipeline has no golden set.' : `No run of ${set} completed in this period.`,
  });
  const chart = (name: string, points: readonly TrendPoint[], empty: string) =>
    measureChart(name, points, {
      ...rest,
      ...axis,
      id: id(name),
      limits: [0, measureRow(name).scale === 'share' ? 1 : null],
      levels: [
        ...checks.flatMap((check) => (check.measure === name && check.kind === 'threshold' ? [levelOf(check)] : [])),
        ...(densityLevels[name] ?? []),
      ],
      empty,
    });
  return [
    { ...ofGolden, title: set === null ? ofGolden.title : `${ofGolden.title} on ${set}` },
    chart(relevance, pointsOf(relevance), 'No judged results, feedback or clicks in this period.'),
    chart(COVERAGE, pointsOf(COVERAGE), 'Coverage was not measured in this period.'),
    latency === null
      ? chart(ERRORS, pointsOf(ERRORS), 'No live queries in this period.')
      : chart(LATENCY, latency, 'No golden run completed in this period.'),
  ];
}
