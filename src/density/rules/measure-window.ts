import { ALL_SEGMENT } from '../../core/model.ts';
import { groupBySegment } from '../../golden/rules/golden-set.ts';
import { type Matrix, rowLengths } from '../../math/vector/matrix.ts';
import { assignRegions, type Regions } from './baseline-spread.ts';
import { type CoverageTotals, coverageTotals } from './pooled-density.ts';
import { queryDensity, tooFewSessions } from './query-density.ts';
import {
  type BaselineScores,
  type MeasuredQuery,
  measuredQueries,
  NO_REGION,
  type ScoredQuery,
  surprisesOf,
  type TiedRanks,
  tiedRanks,
} from './query-score.ts';
import { detectorScores, numberSessions, sessionMeans } from './sessions.ts';

export type WindowMeasurement = ReturnType<typeof measureWindow>;

/**
 * Measures one window. The order of the queries does not affect the result, not even its last digit. Takes about 2 *
 * queries * regions * columns floating-point operations.
 *
 * @param vectors matrix whose rows the queries refer to
 * @throws RangeError if the vectors do not have the dimensions of the baseline
 */
export function measureWindow(
  queries: readonly ScoredQuery[],
  vectors: Matrix,
  baseline: { readonly regions: Regions; readonly scores: BaselineScores },
) {
  const ordered = queries.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  const lengths = rowLengths(vectors);
  const { measured, dropped } = measuredQueries(ordered, lengths);
  const sessions = numberSessions(measured, vectors);
  const regions = regionsOfQueries(measured, vectors, baseline.regions, lengths);
  const ranks = measured.map(({ score }, i) => tiedRanks(score, regions[i] ?? NO_REGION, baseline.scores));
  const surprises = surprisesOf(ranks);
  const density = queryDensity(ranks, surprises, regions, sessions);
  const means = sessionMeans(surprises, regions, sessions);
  return {
    /** Measured queries, ordered by id. */
    queries: measured.map((query, i) => ({
      ...query,
      ranks: ranks[i] as TiedRanks,
      /** Session number within the window. */
      sessionNumber: sessions[i] ?? 0,
      /** `NO_REGION` if the query has no vector. */
      region: regions[i] ?? NO_REGION,
      surprise: surprises[i] ?? 0,
    })),
    dropped,
    /** Coverage of the window; null if no query is measurable. */
    density,
    /** Set if the window has too few sessions for a density. The drift test nevertheless uses the window. */
    insufficient: tooFewSessions(density?.sessions ?? 0),
    means,
    scores: detectorScores(means),
  };
}

/**
 * Region of each query; `NO_REGION` for a query without a vector, or if there are no regions.
 *
 * @param lengths Euclidean norms of the vectors
 */
export function regionsOfQueries(
  queries: readonly MeasuredQuery[],
  vectors: Matrix,
  regions: Regions,
  lengths: Float64Array,
): Int32Array {
  if (regions.count === 0) return new Int32Array(queries.length).fill(NO_REGION);
  const labels = assignRegions(vectors, regions, lengths);
  return Int32Array.from(queries, ({ row }) => (row === null ? NO_REGION : (labels[row] ?? NO_REGION)));
}

/**
 * Totals for all traffic, for the most frequent segment values, and for all other values combined.
 *
 * @param segmentsOf segments of each query, keyed by query id
 */
export function segmentTotals(
  { queries, density }: WindowMeasurement,
  segmentsOf: ReadonlyMap<string, Readonly<Record<string, string>>>,
  { segmentKeys, maxSegments }: { readonly segmentKeys: readonly string[]; readonly maxSegments: number },
): Readonly<Record<string, CoverageTotals>> {
  const totals: Record<string, CoverageTotals> = density === null ? {} : { [ALL_SEGMENT]: coverageTotals(density) };
  const tagged = queries.map(({ id }) => ({ tags: segmentsOf.get(id) ?? {} }));
  for (const { name, members } of groupBySegment(tagged, segmentKeys, maxSegments).segments) {
    const own = members.flatMap((index) => queries[index] ?? []);
    const found = queryDensity(
      own.map(({ ranks }) => ranks),
      Float64Array.from(own, ({ surprise }) => surprise),
      own.map(({ region }) => region),
      own.map(({ sessionNumber }) => sessionNumber),
    );
    if (found !== null) totals[name] = coverageTotals(found);
  }
  return totals;
}
