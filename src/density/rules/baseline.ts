/** Builds the density baseline: frozen statistics of how well the store covers known traffic. */

import { groupBy } from '../../core/group-by.ts';
import { DAY_MS, HOUR_MS, type TimeSpan } from '../../core/time.ts';
import { mean } from '../../math/stats/descriptive.ts';
import { drawn } from '../../math/stats/random.ts';
import { groupEqualRows, type Matrix, rowLengths, selectRowsOf } from '../../math/vector/matrix.ts';
import { baselineSpread, findRegions, type Regions } from './baseline-spread.ts';
import { excessOf, expectedInBaseline, type ReferenceQueries } from './matched-density.ts';
import { regionsOfQueries } from './measure-window.ts';
import { windowAt } from './pooled-density.ts';
import {
  BASELINE_MEAN_X,
  type BaselineScores,
  baselineScores,
  type MeasuredQuery,
  measuredQueries,
  NO_REGION,
  type ScoredQuery,
  surprisesOf,
  type TiedRanks,
  tailShare,
  tiedRanks,
} from './query-score.ts';
import { numberSessions, sessionMeans, sessionWeights } from './sessions.ts';

export type Baseline = Exclude<ReturnType<typeof buildBaseline>, { readonly kind: string }>;

export type FrozenBaseline = Omit<Baseline, 'tail' | 'reference'>;

export interface BaselineSettings {
  readonly period: TimeSpan;
  /** Length of the windows in which sessions are counted. */
  readonly windowMs: number;
  readonly seed: number;
  /** Days and sessions required for both alert levels; 14 and 2,000 by default. */
  readonly pageNeeds?: BaselineTraffic;
}

/** Queries at or below this quantile form the tail, which is searched for uncovered topics. */
const TAIL_PERCENTILE = 0.1;

/** True if a query is in the tail: at least half of its tied ranks are at or below `TAIL_PERCENTILE`. */
export function isInTail(ranks: TiedRanks): boolean {
  return tailShare(ranks, TAIL_PERCENTILE) >= 0.5;
}

/**
 * Builds the baseline of a period. From a period of at least two weeks, uses only the last whole weeks. The same
 * queries and settings always produce the same baseline, regardless of the order of the queries.
 *
 * @param vectors matrix whose rows the queries refer to
 * @returns `insufficient_data` if the even or the odd blocks of eight hours contain no queries, because queries in even
 *   blocks are ranked only among queries in odd blocks, and vice versa
 */
export function buildBaseline(queries: readonly ScoredQuery[], vectors: Matrix, settings: BaselineSettings) {
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
  const times = measured.map(({ occurredAt }) => occurredAt);
  const days = daysWithTraffic(period, times);
  if (ranks === null) return tooFewDays(days);
  const surprises = surprisesOf(ranks);
  const windows = baselineWindows(measured, vectors, settings.windowMs);
  const scores = baselineScores(
    measured.map(({ score }) => score),
    labels,
    regions.count,
  );
  const reference = chooseReference(placed, vectors, scores, windows, settings.seed);
  const excess = crossFitExcess(measured, surprises, vectors, reference);
  const means = windows.map(({ indices, sessions }) => {
    const own = Float64Array.from(indices, (index) => excess[index] ?? 0);
    return sessionMeans(own, [], sessions).all;
  });
  const meanExcess = mean(Float64Array.from(means.flatMap((own) => [...own])));
  const sessions = sessionCount(windows);
  return {
    grade: baselineGrade(days, sessions, settings.pageNeeds),
    sessions,
    period,
    days,
    queries: measured.length,
    dropped,
    regions,
    scores,
    /** Mean excess over the sessions; see `matchedSurprise`. */
    meanExcess,
    /** Distribution of the sessions' means of the matched surprise. */
    global: baselineSpread(means.map((own) => own.map((value) => BASELINE_MEAN_X + value - meanExcess))),
    /** Queries with which live queries are compared; each distinct vector once. */
    reference,
    /** For each region, its share of the total session weight. */
    regionShares: regionShares(windows, labels, regions.count),
    /**
     * The worst-covered 10 % of the baseline queries, by cross-fitted ranks. These queries are searched for uncovered
     * topics.
     */
    tail: windows.flatMap(({ startMs, indices, sessions }) =>
      indices.flatMap((index, i) => {
        const query = measured[index];
        const rank = ranks[index];
        if (query === undefined || query.row === null || rank === undefined || !isInTail(rank)) return [];
        // Name of the session, unique within its window.
        const session = `${startMs}/${sessions[i]}`;
        return [{ id: query.id, row: query.row, session, surprise: surprises[index] ?? 0 }];
      }),
    ),
  };
}

function tooFewDays(days: number) {
  return { kind: 'insufficient_data' as const, have: Math.min(days, 1), need: 2 };
}

function regionsOf(queries: readonly MeasuredQuery[], vectors: Matrix, seed: number): Regions {
  const withVector = queries.filter(({ row }) => row !== null);
  if (withVector.length === 0) return { count: 0, columns: vectors.columns, centroids: new Float64Array(0) };
  return findRegions(selectRowsOf(vectors, withVector), seed);
}

/** Alert levels that a baseline supports. `page`: both. `provisional`: only tickets. `insufficient`: none. */
export type BaselineGrade = 'page' | 'provisional' | 'insufficient';

/** Extent of the traffic in a baseline, or required in one. */
export interface BaselineTraffic {
  readonly days: number;
  readonly sessions: number;
}

/** Default requirements for a baseline that can page; two weeks cover two weekly cycles. */
const PAGE_NEEDS: BaselineTraffic = { days: 14, sessions: 2_000 };
/** Requirements for a provisional baseline, which supports only tickets and no pages. */
const PROVISIONAL_NEEDS: BaselineTraffic = { days: 3, sessions: 500 };

const WEEK_MS = 7 * DAY_MS;

/**
 * Shortens a period of at least two weeks to its last whole weeks, because an incomplete week would give more weight to
 * some weekdays. A shorter period remains unchanged.
 */
export function wholeWeeks({ from, until }: TimeSpan): TimeSpan {
  const weeks = Math.floor((until.getTime() - from.getTime()) / WEEK_MS);
  return weeks < 2 ? { from, until } : { from: new Date(until.getTime() - weeks * WEEK_MS), until };
}

/**
 * Number of days from the first to the last query, inclusive. Days are blocks of 24 hours, counted back from the end of
 * the period.
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

/**
 * @param pageNeeds requirements for both alert levels; a baseline that meets them also supports tickets, even if it
 * does not meet the separate requirements for tickets
 */
export function baselineGrade(days: number, sessions: number, pageNeeds: BaselineTraffic = PAGE_NEEDS): BaselineGrade {
  const has = (needs: BaselineTraffic): boolean => days >= needs.days && sessions >= needs.sessions;
  if (has(pageNeeds)) return 'page';
  return has(PROVISIONAL_NEEDS) ? 'provisional' : 'insufficient';
}

/** Maximum number of reference queries. More queries would slow the search without detecting more drift. */
const MAX_REFERENCE = 2_000;

/**
 * Chooses random baseline queries as reference queries. Each session counts once for each of its distinct vectors, so
 * vectors that occur in many sessions are more likely to be chosen. If users often repeat queries, the chosen vectors
 * therefore represent nearly all queries.
 */
function chooseReference(
  queries: readonly (MeasuredQuery & { readonly region: number })[],
  vectors: Matrix,
  scores: BaselineScores,
  windows: ReturnType<typeof baselineWindows>,
  seed: number,
) {
  const withVector = queries.flatMap(({ row }, index) => (row === null ? [] : [{ row, index }]));
  const { groupOf } = groupEqualRows(selectRowsOf(vectors, withVector));
  const groups = new Map(withVector.map(({ index }, i) => [index, groupOf[i] ?? 0]));
  const votes = new Map<string, { readonly index: number; readonly group: number; readonly session: string }>();
  for (const { startMs, indices, sessions } of windows) {
    for (const [i, index] of indices.entries()) {
      const group = groups.get(index);
      const session = `${startMs}/${sessions[i]}`;
      if (group !== undefined) votes.set(`${session} ${group}`, { index, group, session });
    }
  }
  const chosen = new Map<number, { readonly index: number; readonly session: string; readonly counts: number[] }>();
  for (const { index, group, session } of drawn([...votes.values()], votes.size, seed)) {
    if (!chosen.has(group) && chosen.size === MAX_REFERENCE) continue;
    const one = chosen.get(group) ?? { index, session, counts: [0, 0] };
    chosen.set(group, one);
    const half = isInOddBlock(queries[index] as MeasuredQuery) ? 1 : 0;
    one.counts[half] = (one.counts[half] ?? 0) + 1;
  }
  const rows = [...chosen.values()];
  const own = rows.map(({ index }) => queries[index] as (typeof queries)[number]);
  const half = (side: number): Uint32Array => Uint32Array.from(rows, ({ counts }) => counts[side] ?? 0);
  return {
    /** One query for each row of `vectors`; the query has the vector in that row. */
    queries: own.map(({ id, row, score }, i) => ({ id, row: row ?? 0, score, session: rows[i]?.session ?? '' })),
    vectors: selectRowsOf(vectors, own),
    surprises: surprisesOf(own.map(({ score, region }) => tiedRanks(score, region, scores))),
    counts: [half(0), half(1)] as const,
  };
}

/**
 * Excess of each baseline query: its surprise minus the mean surprise of similar queries in the other half of the
 * baseline. If queries were compared with themselves or with queries from the same user, their excess would be smaller
 * than that of live queries.
 */
function crossFitExcess(
  queries: readonly MeasuredQuery[],
  surprises: Float64Array,
  vectors: Matrix,
  reference: ReferenceQueries,
): Float64Array {
  const excess = surprises.map((surprise) => excessOf(surprise, BASELINE_MEAN_X));
  const [even, odd] = reference.counts;
  for (const other of [even, odd]) {
    const own = queries.flatMap(({ row, occurredAt }, index) =>
      row !== null && isInOddBlock({ occurredAt }) === (other === even) ? [{ row, index }] : [],
    );
    const expected = expectedInBaseline(selectRowsOf(vectors, own), reference, [other]);
    for (const [i, { index }] of own.entries()) excess[index] = excessOf(surprises[index] ?? 0, expected[i] ?? 0);
  }
  return excess;
}

/**
 * Length of a block: a third of a day. With three blocks per day, an odd number, each hour of the day alternates
 * between odd and even blocks. Queries are therefore never compared only with queries from other hours.
 */
const BLOCK_MS = 8 * HOUR_MS;

function isInOddBlock({ occurredAt }: { readonly occurredAt: Date }): boolean {
  return Math.floor(occurredAt.getTime() / BLOCK_MS) % 2 !== 0;
}

/**
 * Cross-fitted ranks of the baseline queries: queries in odd blocks of eight hours are ranked among the scores of even
 * blocks, and vice versa. If a query were ranked among scores that include its own score or scores from the same hour,
 * the baseline would look better covered than live traffic can be.
 *
 * @returns ranks in query order; null if all queries are in odd blocks, or if all are in even blocks
 */
export function crossFitRanks(
  queries: readonly (Pick<MeasuredQuery, 'score' | 'occurredAt'> & { readonly region: number })[],
  regionCount: number,
): TiedRanks[] | null {
  const odd = queries.filter(isInOddBlock);
  const even = queries.filter((query) => !isInOddBlock(query));
  if (odd.length === 0 || even.length === 0) return null;
  const [oddScores, evenScores] = [odd, even].map((half) =>
    baselineScores(
      half.map(({ score }) => score),
      half.map(({ region }) => region),
      regionCount,
    ),
  );
  if (oddScores === undefined || evenScores === undefined) return null;
  return queries.map((query) => tiedRanks(query.score, query.region, isInOddBlock(query) ? evenScores : oddScores));
}

/** Windows with queries, in chronological order. */
function baselineWindows(queries: readonly MeasuredQuery[], vectors: Matrix, windowMs: number) {
  const byStart = groupBy(queries.entries(), ([, { occurredAt }]) => windowAt(occurredAt.getTime(), windowMs).startMs);
  return [...byStart]
    .toSorted(([a], [b]) => a - b)
    .map(([startMs, entries]) => {
      const indices = entries.map(([index]) => index);
      const own = entries.map(([, query]) => query);
      const sessions = numberSessions(own, vectors);
      /** Session names; null for sessions inferred from similarity. */
      const names = own.map(({ session }) => session);
      return { startMs, indices, sessions, names };
    });
}

/** Number of sessions in the period; a session that spans two windows counts once. */
function sessionCount(windows: ReturnType<typeof baselineWindows>): number {
  const sessions = new Set<string>();
  for (const { startMs, sessions: numbers, names } of windows) {
    for (const [i, name] of names.entries()) {
      sessions.add(name === null ? `${startMs}/${numbers[i]}` : `named ${name}`);
    }
  }
  return sessions.size;
}

/**
 * For each region, its share of the total session weight. The shares may sum to less than 1, because the total includes
 * queries without a region.
 */
function regionShares(windows: ReturnType<typeof baselineWindows>, regions: Int32Array, regionCount: number): number[] {
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
