/** The baseline: what well-known traffic looked like against the store, frozen. */

import { type Matrix, rowLengths, selectRows } from '../../vector/matrix.ts';
import { regionsOfQueries } from '../coverage/measure-window.ts';
import { type BaselineScores, baselineScores, NO_REGION, surpriseOf } from '../coverage/percentile.ts';
import { findRegions, type Regions } from '../coverage/regions.ts';
import {
  type DroppedQueries,
  type MeasuredQuery,
  measuredQueries,
  type ScoredQuery,
} from '../coverage/scored-query.ts';
import {
  type BaselineGrade,
  type BaselineNeeds,
  baselineGrade,
  daysWithTraffic,
  type Period,
  wholeWeeks,
} from './baseline-period.ts';
import { type BaselineSpread, globalSpread, type RegionSpread, regionSpreads } from './baseline-spread.ts';
import { baselineWindows, regionShares, sessionCount } from './baseline-windows.ts';
import { crossFitPercentiles } from './cross-fit.ts';

export interface Baseline {
  readonly grade: BaselineGrade;
  readonly period: Period;
  readonly days: number;
  readonly sessions: number;
  readonly queries: number;
  readonly dropped: DroppedQueries;
  readonly regions: Regions;
  readonly scores: BaselineScores;
  readonly global: BaselineSpread;
  /** Regions with sessions enough for a detector of their own. */
  readonly monitored: readonly RegionSpread[];
  /** Share of the session weights by region. */
  readonly regionShares: readonly number[];
  /** The badly covered tenth, cross-fitted, for the search for uncovered topics. */
  readonly tail: readonly BaselineTailQuery[];
}

export interface BaselineTailQuery {
  readonly id: string;
  readonly row: number;
  /** Names the session within its window. */
  readonly session: string;
  readonly surprise: number;
}

/** The period has no queries, or all of them on days of one parity, so that they cannot be compared. */
export interface InsufficientBaseline {
  readonly kind: 'insufficient_data';
  readonly of: 'days';
  readonly have: number;
  readonly need: number;
}

export interface BaselineSettings {
  readonly period: Period;
  /** Length of the windows in which sessions are counted. */
  readonly windowMs: number;
  readonly seed: number;
  /** Days and sessions for both levels of the alarm; by default 14 and 2,000. */
  readonly pageNeeds?: BaselineNeeds;
}

/** A query at or under this percentile is in the tail that the search for uncovered topics looks at. */
export const TAIL_PERCENTILE = 0.1;

/**
 * Builds the baseline of a period: regions of its queries, the scores of each, and the spread that the detectors need.
 * Of a period of two weeks or more only whole weeks count. The same queries and settings give the same baseline,
 * whatever their order.
 *
 * @param vectors what the rows of the queries point into
 */
export function buildBaseline(
  queries: readonly ScoredQuery[],
  vectors: Matrix,
  settings: BaselineSettings,
): Baseline | InsufficientBaseline {
  const period = wholeWeeks(settings.period);
  const within = queries
    .filter(({ occurredAt }) => occurredAt >= period.from && occurredAt < period.until)
    .toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  const lengths = rowLengths(vectors);
  const { measured, dropped } = measuredQueries(within, lengths);
  const regions = regionsOf(measured, vectors, settings.seed);
  const labels = regionsOfQueries(measured, vectors, regions, lengths);
  const placed = measured.map((query, i) => ({ ...query, region: labels[i] ?? NO_REGION }));
  const percentiles = crossFitPercentiles(placed, regions.count);
  const days = daysWithTraffic(
    period,
    measured.map(({ occurredAt }) => occurredAt),
  );
  if (percentiles === null)
    return { kind: 'insufficient_data', of: 'days', have: Math.min(days, 1), need: 2 };
  const surprises = percentiles.map(surpriseOf);
  const windows = baselineWindows(measured, vectors, labels, surprises, settings.windowMs);
  const means = windows.map((window) => window.means);
  const sessions = sessionCount(windows);
  return {
    grade: baselineGrade(days, sessions, settings.pageNeeds),
    sessions,
    period,
    days,
    queries: measured.length,
    dropped,
    regions,
    scores: baselineScores(
      measured.map(({ score }) => score),
      labels,
      regions.count,
    ),
    global: globalSpread(means),
    monitored: regionSpreads(means, regions.count),
    regionShares: regionShares(windows, labels, regions.count),
    tail: windows.flatMap(({ startMs, indices, sessions }) =>
      indices.flatMap((index, i) => {
        const query = measured[index];
        if (query === undefined || query.row === null || !((percentiles[index] ?? 1) <= TAIL_PERCENTILE))
          return [];
        const session = `${startMs}/${sessions[i]}`;
        return [{ id: query.id, row: query.row, session, surprise: surprises[index] ?? 0 }];
      }),
    ),
  };
}

function regionsOf(queries: readonly MeasuredQuery[], vectors: Matrix, seed: number): Regions {
  const rows = queries.flatMap(({ row }) => (row === null ? [] : [row]));
  if (rows.length === 0) return { count: 0, columns: vectors.columns, centroids: new Float64Array(0) };
  return findRegions(selectRows(vectors, rows), seed);
}
