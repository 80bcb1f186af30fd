/**
 * One vote per session: its queries share it equally, or a subsample is taken in which every session had the same
 * chance.
 */
import { lengthOf, type Matrix, rowOf } from '../../math/vector/matrix.ts';
import { MAX_SURPRISE, type MeasuredQuery, NO_REGION } from './query-score.ts';

/** Queries of one window whose vectors agree this well are repeats of one client. */
const LIKENESS = 0.995;

/** Of two unit vectors with that cosine, |a - b|^2 = 2 - 2 cos. */
const LIKE_SQUARED_DISTANCE = 2 - 2 * LIKENESS;

/** Coordinates that are summed before looking whether they set the pair apart. */
const STRIDE = 16;

/** @param sessions number of the session of each query of one window */
export function sessionWeights(sessions: ArrayLike<number>) {
  const counts = new Map<number, number>();
  for (let i = 0; i < sessions.length; i++) {
    const session = sessions[i] ?? 0;
    counts.set(session, (counts.get(session) ?? 0) + 1);
  }
  const weights = Float64Array.from(sessions, (session) => 1 / (counts.get(session) ?? 1));
  return {
    /** 1 / (queries of the same session); the weights of a session sum to 1. */
    weights,
    sessions: counts.size,
  };
}

/**
 * Numbers the sessions of one window from 0, in the order of their first query. Queries of the same name form one
 * session. Of those without a name, all that are linked by cosines >= 0.995 form one, whatever their order; one without
 * a vector stands alone.
 */
export function numberSessions(queries: readonly MeasuredQuery[], vectors: Matrix): Int32Array {
  const nameless = queries.flatMap(({ session, row }, index) =>
    session === null && row !== null ? [{ index, row }] : [],
  );
  const groups = sessionsByLikeness(
    vectors,
    nameless.map(({ row }) => row),
  );
  const groupOf = new Map(nameless.map(({ index }, i) => [index, groups[i]]));
  const numbers = new Map<string, number>();
  return Int32Array.from(queries, ({ session }, index) => {
    const key = session === null ? `like ${groupOf.get(index) ?? `none ${index}`}` : `named ${session}`;
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
}

/**
 * Groups rows that are linked by cosines >= 0.995 (connected components). Compares every pair, but stops at the first
 * coordinates that show the two to be unlike, and never compares two rows of one group, so that a copy costs one
 * comparison. 10,000 unlike rows take about three seconds.
 *
 * @returns the position in `rows` of the first member of each row's group
 */
export function sessionsByLikeness(vectors: Matrix, rows: readonly number[]): Int32Array {
  const { columns } = vectors;
  const units = new Float32Array(rows.length * columns);
  for (const [i, row] of rows.entries()) {
    const vector = rowOf(vectors, row);
    const length = lengthOf(vector);
    for (const [c, value] of vector.entries()) units[i * columns + c] = value / length;
  }
  const parents = Int32Array.from(rows, (_, i) => i);
  for (let i = 1; i < rows.length; i++) {
    let group = i;
    for (let j = 0; j < i; j++) {
      const other = rootOf(parents, j);
      if (other === group || !areAlike(units, i, j, columns)) continue;
      parents[Math.max(group, other)] = Math.min(group, other);
      group = Math.min(group, other);
    }
  }
  return parents.map((_, i) => rootOf(parents, i));
}

/** Whether two unit rows have a cosine of at least `LIKENESS`, by their squared distance. */
function areAlike(rows: Float32Array, i: number, j: number, columns: number): boolean {
  const a = i * columns;
  const b = j * columns;
  let squares = 0;
  for (let from = 0; from < columns && squares <= LIKE_SQUARED_DISTANCE; from += STRIDE) {
    const to = Math.min(from + STRIDE, columns);
    for (let c = from; c < to; c++) {
      const difference = (rows[a + c] as number) - (rows[b + c] as number);
      squares += difference * difference;
    }
  }
  return squares <= LIKE_SQUARED_DISTANCE;
}

function rootOf(parents: Int32Array, member: number): number {
  let root = member;
  while (parents[root] !== root) {
    // Each step halves the path for the next search.
    parents[root] = parents[parents[root] ?? root] ?? root;
    root = parents[root] ?? root;
  }
  return root;
}

// From the surprises of the queries of a window to one mean for each session, which is what counts as evidence.

/** Mean surprise x of each session of one window, in nats. */
export interface SessionMeans {
  readonly all: Float64Array;
  /** By region, of the sessions with queries there, over those queries. */
  readonly regions: ReadonlyMap<number, Float64Array>;
}

/** Session scores y = mean of x / ln 100 of one window. */
export interface SessionScores {
  readonly all: ArrayLike<number>;
  /** By region: a session counts in every region it has queries in, with their mean. */
  readonly regions: ReadonlyMap<number, ArrayLike<number>>;
}

/** Sessions and the sum of their mean surprises: what pooled densities are made of. */
export interface SurpriseTotal {
  readonly sessions: number;
  readonly sumX: number;
}

/**
 * @param surprises of the queries of one window
 * @param regions of the queries, `NO_REGION` for none
 * @param sessions numbers of the queries' sessions
 */
export function sessionMeans(
  surprises: Float64Array,
  regions: ArrayLike<number>,
  sessions: ArrayLike<number>,
): SessionMeans {
  const all = new Map<number, Sum>();
  const byRegion = new Map<number, Map<number, Sum>>();
  for (const [i, x] of surprises.entries()) {
    const session = sessions[i] ?? 0;
    add(all, session, x);
    const region = regions[i] ?? NO_REGION;
    if (region === NO_REGION) continue;
    const own = byRegion.get(region) ?? new Map<number, Sum>();
    byRegion.set(region, own);
    add(own, session, x);
  }
  return {
    all: meansOf(all),
    regions: new Map([...byRegion].map(([region, sums]) => [region, meansOf(sums)])),
  };
}

/** y = x / ln 100 of each session, in [0, 1], as the detectors take them. */
export function detectorScores({ all, regions }: SessionMeans): SessionScores {
  return {
    all: scoresOf(all),
    regions: new Map([...regions].map(([region, means]) => [region, scoresOf(means)])),
  };
}

function scoresOf(means: Float64Array): Float64Array {
  // A mean of several largest surprises may pass them by its last digit.
  return means.map((x) => Math.min(1, x / MAX_SURPRISE));
}

export function surpriseTotal(means: Float64Array): SurpriseTotal {
  // In ascending order, so that the order of the sessions does not reach the last digit.
  return { sessions: means.length, sumX: means.toSorted().reduce((sum, x) => sum + x, 0) };
}

interface Sum {
  count: number;
  sum: number;
}

function add(sums: Map<number, Sum>, session: number, x: number): void {
  const sum = sums.get(session);
  if (sum === undefined) sums.set(session, { count: 1, sum: x });
  else {
    sum.count++;
    sum.sum += x;
  }
}

function meansOf(sums: ReadonlyMap<number, Sum>): Float64Array {
  return Float64Array.from(sums.values(), ({ count, sum }) => sum / count);
}

/** The sampled queries and sessions that had the same chance of being sampled. */
export interface ChanceGroup {
  /** In (0, 1]. */
  readonly chance: number;
  readonly queries: number;
  readonly sessions: number;
}

interface EqualChance {
  /** Sessions count whose draw is below this and below their own chance. */
  readonly chance: number;
  /** Queries that may be expected to count. */
  readonly queries: number;
}

/** Share of all traffic that may be counted with less than its weight for the sake of the rest. */
const TRIMMED_SHARE = 0.05;
/** No session stands for more than so many times the sessions that another stands for. */
const MAX_WEIGHT = 16;

/**
 * The chance at which traffic that was sampled at different rates is counted. The draws of sessions are uniform and
 * kept, so that those below a common chance are what sampling everything at it would have kept: their unweighted
 * means estimate those of all traffic, as weights of one over the chance do for the whole sample, and their count
 * is an honest number of independent votes.
 *
 * The common chance is the smallest one among the groups, except that groups of tiny chances are passed over while they
 * are less than 5 % of all traffic (estimated by Horvitz and Thompson), or would weigh more than 16 times as much as
 * the rest. A short burst at a tiny rate would otherwise throw away the evidence of the hours around it. The groups
 * that are passed over count for less than they are.
 *
 * @param most queries that may be expected to count; the chance is lowered until they fit
 * @returns null without groups
 */
export function equalChance(
  groups: readonly ChanceGroup[],
  most: number = Number.POSITIVE_INFINITY,
): EqualChance | null {
  const ordered = groups.toSorted((a, b) => a.chance - b.chance);
  const largest = ordered.at(-1)?.chance;
  if (largest === undefined) return null;
  const all = ordered.reduce((sum, { sessions, chance }) => sum + sessions / chance, 0);
  let below = 0;
  let chance = largest;
  for (const group of ordered) {
    below += group.sessions / group.chance;
    if (below <= TRIMMED_SHARE * all || group.chance * MAX_WEIGHT < largest) continue;
    chance = group.chance;
    break;
  }
  const expected = expectedQueries(ordered, chance);
  if (expected <= most) return { chance, queries: expected };
  // What is expected falls at least as fast as the chance once it is below all of theirs.
  let lowered = chance;
  while (expectedQueries(ordered, lowered) > most) lowered /= 2;
  return { chance: lowered, queries: expectedQueries(ordered, lowered) };
}

function expectedQueries(groups: readonly ChanceGroup[], chance: number): number {
  return groups.reduce((sum, group) => sum + group.queries * Math.min(1, chance / group.chance), 0);
}
