/** The baseline: what well-known traffic looked like against the store, frozen. */

import { DAY_MS, HOUR_MS, type TimeSpan } from '../../core/time.ts';
import { type Matrix, rowLengths, selectRows } from '../../math/vector/matrix.ts';
import {
  type BaselineSpread,
  findRegions,
  globalSpread,
  type RegionSpread,
  type Regions,
  regionSpreads,
} from './baseline-spread.ts';
import { regionsOfQueries } from './measure-window.ts';
import { windowAt } from './pooled-density.ts';
import {
  type BaselineScores,
  baselineScores,
  type DroppedQueries,
  type MeasuredQuery,
  measuredQueries,
  NO_REGION,
  type ScoredQuery,
  surprisesOf,
  type TiedRanks,
  tailShare,
  tiedRanks,
} from './query-score.ts';
import { numberSessions, type SessionMeans, sessionMeans, sessionWeights } from './sessions.ts';

export interface Baseline {
  readonly grade: BaselineGrade;
  readonly period: TimeSpan;
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

/** What is kept of a baseline when its queries are gone. */
export type FrozenBaseline = Omit<Baseline, 'tail'>;

interface BaselineTailQuery {
  readonly id: string;
  readonly row: number;
  /** Names the session within its window. */
  readonly session: string;
  readonly surprise: number;
}

/** The period has no queries, or all of them in every other block of hours, so that they cannot be compared. */
export interface InsufficientBaseline {
  readonly kind: 'insufficient_data';
  readonly of: 'days';
  readonly have: number;
  readonly need: number;
}

export interface BaselineSettings {
  readonly period: TimeSpan;
  /** Length of the windows in which sessions are counted. */
  readonly windowMs: number;
  readonly seed: number;
  /** Days and sessions for both levels of the alarm; by default 14 and 2,000. */
  readonly pageNeeds?: BaselineNeeds;
}

/** A query at or under this percentile is in the tail that the search for uncovered topics looks at. */
const TAIL_PERCENTILE = 0.1;

/** Of a query whose ranks lie on both sides, the greater part decides. */
export function isInTail(ranks: TiedRanks): boolean {
  return tailShare(ranks, TAIL_PERCENTILE) >= 0.5;
}

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
  const ranks = crossFitRanks(placed, regions.count);
  const days = daysWithTraffic(
    period,
    measured.map(({ occurredAt }) => occurredAt),
  );
  if (ranks === null) return { kind: 'insufficient_data', of: 'days', have: Math.min(days, 1), need: 2 };
  const surprises = surprisesOf(ranks);
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
        const rank = ranks[index];
        if (query === undefined || query.row === null || rank === undefined || !isInTail(rank)) return [];
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

// The reference period: how long it is, and what it is good for.

/** `page`: both levels of the alarm. `provisional`: tickets only. `insufficient`: no alarm. */
export type BaselineGrade = 'page' | 'provisional' | 'insufficient';

export interface BaselineNeeds {
  readonly days: number;
  readonly sessions: number;
}

/** Two weekly cycles. */
const PAGE_NEEDS: BaselineNeeds = { days: 14, sessions: 2_000 };
const PROVISIONAL_NEEDS: BaselineNeeds = { days: 3, sessions: 500 };

const WEEK_MS = 7 * DAY_MS;

/**
 * The last whole weeks of a period of at least two; a shorter one as it is. Otherwise the weekdays at its ends would
 * count more than the others, wherever in the world the users are.
 */
export function wholeWeeks({ from, until }: TimeSpan): TimeSpan {
  const weeks = Math.floor((until.getTime() - from.getTime()) / WEEK_MS);
  return weeks < 2 ? { from, until } : { from: new Date(until.getTime() - weeks * WEEK_MS), until };
}

/**
 * Days of 24 hours, counted back from the end of the period, from the first to the last that has a query; a weekend
 * without queries between them counts.
 */
export function daysWithTraffic({ until }: TimeSpan, times: readonly Date[]): number {
  let first = Number.NEGATIVE_INFINITY;
  let last = Number.POSITIVE_INFINITY;
  for (const time of times) {
    const day = Math.ceil((until.getTime() - time.getTime()) / DAY_MS);
    first = Math.max(first, day);
    last = Math.min(last, day);
  }
  return times.length === 0 ? 0 : first - last + 1;
}

/** @param pageNeeds what both levels of the alarm need; tickets never need more */
export function baselineGrade(days: number, sessions: number, pageNeeds: BaselineNeeds = PAGE_NEEDS): BaselineGrade {
  const has = (needs: BaselineNeeds): boolean => days >= needs.days && sessions >= needs.sessions;
  if (has(pageNeeds)) return 'page';
  return has(PROVISIONAL_NEEDS) ? 'provisional' : 'insufficient';
}

interface DatedScore {
  readonly score: number;
  readonly region: number;
  readonly occurredAt: Date;
}

/** A third of a day: from one day to the next each hour changes sides, so that no time of the day is compared with itself alone. */
const BLOCK_MS = 8 * HOUR_MS;

/**
 * Ranks of the baseline's own queries, cross-fitted: those of odd blocks of eight hours among the scores of even blocks
 * and the other way round. A query is not compared with itself nor with others of its hour, which would make the
 * baseline look better covered than live traffic can be.
 *
 * @returns in the order of the queries; null when all lie in odd blocks, or all in even ones
 */
export function crossFitRanks(queries: readonly DatedScore[], regionCount: number): TiedRanks[] | null {
  const isOdd = ({ occurredAt }: DatedScore): boolean => Math.floor(occurredAt.getTime() / BLOCK_MS) % 2 !== 0;
  const odd = queries.filter(isOdd);
  const even = queries.filter((query) => !isOdd(query));
  if (odd.length === 0 || even.length === 0) return null;
  const [oddScores, evenScores] = [odd, even].map((half) =>
    baselineScores(
      half.map(({ score }) => score),
      half.map(({ region }) => region ?? NO_REGION),
      regionCount,
    ),
  );
  if (oddScores === undefined || evenScores === undefined) return null;
  return queries.map((query) => tiedRanks(query.score, query.region, isOdd(query) ? evenScores : oddScores));
}

// The queries of the baseline by window, because sessions are counted by window.

interface BaselineWindow {
  readonly startMs: number;
  /** Positions of its queries. */
  readonly indices: readonly number[];
  /** Numbers of their sessions. */
  readonly sessions: Int32Array;
  /** Names of the sessions; null for those that were grouped by likeness. */
  readonly names: readonly (string | null)[];
  readonly means: SessionMeans;
}

/** Windows with queries, in the order of time. */
function baselineWindows(
  queries: readonly MeasuredQuery[],
  vectors: Matrix,
  regions: Int32Array,
  surprises: Float64Array,
  windowMs: number,
): readonly BaselineWindow[] {
  const byStart = new Map<number, number[]>();
  for (const [index, { occurredAt }] of queries.entries()) {
    const { startMs } = windowAt(occurredAt.getTime(), windowMs);
    const indices = byStart.get(startMs);
    if (indices === undefined) byStart.set(startMs, [index]);
    else indices.push(index);
  }
  return [...byStart]
    .toSorted(([a], [b]) => a - b)
    .map(([startMs, indices]) => {
      const own = indices.flatMap((index) => queries[index] ?? []);
      const sessions = numberSessions(own, vectors);
      const names = own.map(({ session }) => session);
      const means = sessionMeans(
        Float64Array.from(indices, (index) => surprises[index] ?? 0),
        indices.map((index) => regions[index] ?? NO_REGION),
        sessions,
      );
      return { startMs, indices, sessions, names, means };
    });
}

/** Sessions of the period: one that reaches into a second window counts once. */
function sessionCount(windows: readonly BaselineWindow[]): number {
  const sessions = new Set<string>();
  for (const { startMs, sessions: numbers, names } of windows) {
    for (const [i, name] of names.entries()) {
      sessions.add(name === null ? `${startMs}/${numbers[i]}` : `named ${name}`);
    }
  }
  return sessions.size;
}

/** Share of the session weights by region; queries without a region count in the whole. */
function regionShares(windows: readonly BaselineWindow[], regions: Int32Array, regionCount: number): number[] {
  const sums = Array.from({ length: regionCount }, () => 0);
  let total = 0;
  for (const { indices, sessions } of windows) {
    const { weights } = sessionWeights(sessions);
    for (const [i, index] of indices.entries()) {
      const region = regions[index] ?? NO_REGION;
      total += weights[i] ?? 0;
      if (region !== NO_REGION) sums[region] = (sums[region] ?? 0) + (weights[i] ?? 0);
    }
  }
  return sums.map((sum) => sum / total);
}
