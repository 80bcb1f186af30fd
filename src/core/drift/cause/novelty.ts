/** Whether live queries are like those of the baseline: new questions, or old ones that are covered worse. */
import { wilsonInterval } from '../../stats/wilson.ts';
import type { Matrix } from '../../vector/matrix.ts';
import { meanSimilarities, nearestNeighbours } from '../../vector/nearest-neighbours.ts';

/** Baseline queries that a query is compared with. */
const NEIGHBOURS = 10;
/** Baseline queries that tell how like each other they are. */
export const FEWEST_SAMPLED = NEIGHBOURS + 2;
const NOVEL_SHARE = 0.05;
const CONFIDENCE = 0.95;

/** Mean cosine of each query to its 10 nearest baseline queries. Takes 2 * queries * baseline * columns steps. */
export function familiarity(queries: Matrix, baseline: Matrix): Float64Array {
  return meanSimilarities(nearestNeighbours(baseline, queries, NEIGHBOURS), queries.rows);
}

/**
 * The 5 % quantile of the familiarity of the baseline queries with each other: a query below it is novel.
 *
 * @returns null with fewer than 12 queries
 */
export function novelBelow(baseline: Matrix): number | null {
  if (baseline.rows < FEWEST_SAMPLED) return null;
  const { k, indices, similarities } = nearestNeighbours(baseline, baseline, NEIGHBOURS + 1);
  const values = Float64Array.from({ length: baseline.rows }, (_, row) => {
    const own = similarities.subarray(row * k, (row + 1) * k);
    const itself = indices.subarray(row * k, (row + 1) * k).indexOf(row);
    const sum = own.reduce((total, similarity) => total + similarity, 0);
    // Among many copies of a query it may not be found itself; then a copy stands for it.
    return (sum - (own[Math.max(0, itself)] ?? 0)) / NEIGHBOURS;
  }).toSorted();
  return values[Math.floor(NOVEL_SHARE * values.length)] ?? null;
}

export interface Novelty {
  readonly queries: number;
  /** Of the queries; 0.05 as in the baseline. With 95 % bounds. */
  readonly share: number;
  readonly low: number;
  readonly high: number;
  /** Whether new questions account for at least half of the traffic that is uncovered beyond the baseline. */
  readonly explains: boolean;
}

/**
 * Whether what is uncovered is new. A topic that the store never held makes queries uncovered and novel alike; a loss
 * of content makes old questions uncovered, and other hours or other users make for other topics that are covered.
 *
 * @param values familiarity of one query of each session, at least one
 * @param uncoveredExcess share of traffic that is uncovered beyond the baseline, as `UncoveredShare` has it
 */
export function noveltyOf(values: ArrayLike<number>, threshold: number, uncoveredExcess: number): Novelty {
  let novel = 0;
  for (let i = 0; i < values.length; i++) if ((values[i] ?? 1) < threshold) novel++;
  const share = novel / values.length;
  const { low, high } = wilsonInterval(share, values.length, CONFIDENCE);
  const excess = (share - NOVEL_SHARE) / (1 - NOVEL_SHARE);
  return {
    queries: values.length,
    share,
    low,
    high,
    explains: low > NOVEL_SHARE && excess >= uncoveredExcess / 2,
  };
}
