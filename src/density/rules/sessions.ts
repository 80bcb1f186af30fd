/** Gives each session one vote, which its queries share. Also finds a common sampling probability for all sessions. */
import { lengthOf, type Matrix, rowOf } from '../../math/vector/matrix.ts';
import { BASELINE_MEAN_X, MAX_SURPRISE, type MeasuredQuery, NO_REGION } from './query-score.ts';

/** Minimum cosine at which queries in one window are treated as repeats by one client. */
const MIN_REPEAT_COSINE = 0.995;

/** Squared distance of two unit vectors with the cosine `MIN_REPEAT_COSINE`: |a - b|^2 = 2 - 2 cos. */
const MAX_REPEAT_SQUARED_DISTANCE = 2 - 2 * MIN_REPEAT_COSINE;

/** Number of coordinates that are summed between two comparisons of the squared distance with the limit. */
const STRIDE = 16;

/** @param sessions session number of each query in one window */
export function sessionWeights(sessions: ArrayLike<number>) {
  const counts = new Map<number, number>();
  for (let i = 0; i < sessions.length; i++) {
    const session = sessions[i] ?? 0;
    counts.set(session, (counts.get(session) ?? 0) + 1);
  }
  const weights = Float64Array.from(sessions, (session) => 1 / (counts.get(session) ?? 1));
  return {
    /** Weight of each query: 1 / (number of queries in its session). The weights of a session sum to 1. */
    weights,
    sessions: counts.size,
  };
}

/**
 * Numbers the sessions of one window from 0, in the order of their first query. Queries with the same session name form
 * one session. Queries without a session name form one session if they are linked by cosines >= 0.995, whatever their
 * order. A query with neither a session name nor a vector is its own session.
 */
export function numberSessions(queries: readonly MeasuredQuery[], vectors: Matrix): Int32Array {
  const nameless = queries.flatMap(({ session, row }, index) =>
    session === null && row !== null ? [{ index, row }] : [],
  );
  const groups = groupRepeats(
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
 * Groups rows linked by cosines >= 0.995 (connected components). Compares every two rows that are not in the same group
 * yet. Each comparison stops as soon as the distance exceeds the limit. 10,000 distinct rows take about three seconds.
 *
 * @returns for each row, the index in `rows` of the first member of its group
 */
export function groupRepeats(vectors: Matrix, rows: readonly number[]): Int32Array {
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
      if (other === group || !areRepeats(units, i, j, columns)) continue;
      parents[Math.max(group, other)] = Math.min(group, other);
      group = Math.min(group, other);
    }
  }
  return parents.map((_, i) => rootOf(parents, i));
}

/** True if the cosine of two unit vectors, computed from their squared distance, is at least `MIN_REPEAT_COSINE`. */
function areRepeats(rows: Float32Array, i: number, j: number, columns: number): boolean {
  const a = i * columns;
  const b = j * columns;
  let squares = 0;
  for (let from = 0; from < columns && squares <= MAX_REPEAT_SQUARED_DISTANCE; from += STRIDE) {
    const to = Math.min(from + STRIDE, columns);
    for (let c = from; c < to; c++) {
      const difference = (rows[a + c] as number) - (rows[b + c] as number);
      squares += difference * difference;
    }
  }
  return squares <= MAX_REPEAT_SQUARED_DISTANCE;
}

function rootOf(parents: Int32Array, member: number): number {
  let root = member;
  while (parents[root] !== root) {
    // Halves the path to the root, so that the next search is faster.
    parents[root] = parents[parents[root] ?? root] ?? root;
    root = parents[root] ?? root;
  }
  return root;
}

export type SessionMeans = ReturnType<typeof sessionMeans>;

/**
 * Mean surprise x of each session in one window, in nats: over all queries, and by region. The surprises that the
 * daemon passes are matched surprises (see `matched-density.ts`).
 *
 * @param regions region of each query; `NO_REGION` if it has none
 * @param sessions session numbers of the queries
 */
export function sessionMeans(surprises: Float64Array, regions: ArrayLike<number>, sessions: ArrayLike<number>) {
  const all: SessionSums = new Map();
  const byRegion = new Map<number, SessionSums>();
  for (const [i, x] of surprises.entries()) {
    const session = sessions[i] ?? 0;
    add(all, session, x);
    const region = regions[i] ?? NO_REGION;
    if (region === NO_REGION) continue;
    const own = byRegion.get(region) ?? new Map();
    byRegion.set(region, own);
    add(own, session, x);
  }
  return {
    all: meansOf(all),
    /** Session means by region: each covers only the queries in that region. */
    regions: new Map([...byRegion].map(([region, sums]) => [region, meansOf(sums)])),
  };
}

/**
 * Bounds of the difference between a matched surprise and `BASELINE_MEAN_X`; `detectorScore` maps them to 0 and 1. The
 * difference is the excess of a query, which is between -2 and ln 100, minus the mean excess of the baseline, which is
 * between -1 and 1.
 */
const MIN_DIFFERENCE = -3;
const MAX_DIFFERENCE = MAX_SURPRISE + 1;

/** Maps a mean matched surprise linearly to the range [0, 1] of the detector. */
export function detectorScore(x: number): number {
  const score = (x - BASELINE_MEAN_X - MIN_DIFFERENCE) / (MAX_DIFFERENCE - MIN_DIFFERENCE);
  return Math.min(1, Math.max(0, score));
}

/** Detector input: one score per session. */
export function detectorScores({ all }: SessionMeans): Float64Array {
  return all.map(detectorScore);
}

/** Number of sessions and sum of their mean surprises, from which pooled densities are computed. */
export function surpriseTotal(means: Float64Array) {
  // Summed in ascending order, so that the result does not depend on the order of the sessions.
  return { sessions: means.length, sumX: means.toSorted().reduce((sum, x) => sum + x, 0) };
}

type SessionSums = Map<number, { count: number; sum: number }>;

function add(sums: SessionSums, session: number, x: number): void {
  const sum = sums.get(session);
  if (sum === undefined) sums.set(session, { count: 1, sum: x });
  else {
    sum.count++;
    sum.sum += x;
  }
}

function meansOf(sums: SessionSums): Float64Array {
  return Float64Array.from(sums.values(), ({ count, sum }) => sum / count);
}

/** Sampled queries and sessions with the same sampling probability. */
export interface ChanceGroup {
  /** In (0, 1]. */
  readonly chance: number;
  readonly queries: number;
  readonly sessions: number;
}

/**
 * Maximum share of all traffic in the skipped groups, which are the groups with the lowest sampling probabilities.
 * Skipping a group underweights it, but allows more of the other traffic to be used.
 */
const TRIMMED_SHARE = 0.05;
/** Maximum ratio between the weights of two sessions. */
const MAX_WEIGHT = 16;

/**
 * Finds a common sampling probability for traffic that was sampled at different rates. Each session has a stored,
 * uniform random number. If all traffic had been sampled at a common probability, exactly the sessions whose number is
 * below this probability would have been sampled. Unweighted means over these sessions estimate the means of all
 * traffic, and each session is an independent vote.
 *
 * The common probability is the smallest probability of any group that is not skipped. Groups with tiny probabilities
 * are skipped if together they make up at most 5 % of all traffic (Horvitz-Thompson estimate). A group is also skipped
 * if its sessions would weigh more than 16 times as much as those of the group with the highest probability. Without
 * these exceptions, a short burst of traffic that was sampled at a tiny rate would discard most data from the
 * surrounding hours. Skipped groups are underweighted.
 *
 * @param most maximum expected number of queries; the probability is lowered until this maximum is not exceeded
 * @returns null if there are no groups
 */
export function equalChance(groups: readonly ChanceGroup[], most: number = Number.POSITIVE_INFINITY): number | null {
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
  // A session is included if its random number is below `chance` and below its own probability. The loop ends because
  // the expected number of queries is proportional to the common probability once that probability is below the
  // probability of every group.
  while (expectedQueries(ordered, chance) > most) chance /= 2;
  return chance;
}

/** Expected number of queries in all included sessions. */
function expectedQueries(groups: readonly ChanceGroup[], chance: number): number {
  return groups.reduce((sum, group) => sum + group.queries * Math.min(1, chance / group.chance), 0);
}
