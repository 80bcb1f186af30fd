import { ALL_SEGMENT } from '../../core/model.ts';
import { groupBySegment } from '../../golden/rules/golden-set.ts';
import { type Matrix, rowLengths } from '../../math/vector/matrix.ts';
import { assignRegions, type Regions } from './baseline-spread.ts';
import { expectedInBaseline, matchedSurprise, type ReferenceQueries } from './matched-density.ts';
import { type CoverageTotals, coverageTotals } from './pooled-density.ts';
import { queryDensity } from './query-density.ts';
import {
  BASELINE_MEAN_X,
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

export type WindowMeasurement = ReturnType<typeof measureRanked>;

/**
 * Measures one window. The order of the queries does not affect the result, not even its last digit. Takes about 2 *
 * queries * (regions + reference queries) * columns operations.
 *
 * @param vectors matrix whose rows the queries refer to
 * @throws RangeError if the vectors and the baseline have different dimensions
 */
export function measureWindow(
  queries: readonly ScoredQuery[],
  vectors: Matrix,
  baseline: Parameters<typeof rankQueries>[2] & {
    readonly reference: ReferenceQueries;
    readonly meanExcess: number;
  },
) {
  const ranked = rankQueries(queries, vectors, baseline);
  const expected = expectedInBaseline(vectors, baseline.reference);
  return measureRanked(ranked, (row) => expected[row] ?? BASELINE_MEAN_X, baseline.meanExcess);
}

/**
 * Measures a window of ranked queries.
 *
 * @param expectedOf returns the expected surprise of the query in the given row, from `expectedInBaseline`
 */
export function measureRanked(
  ranked: ReturnType<typeof rankQueries>,
  expectedOf: (row: number) => number,
  meanExcess: number,
) {
  const measured = ranked.queries.map((query) => {
    const expected = query.row === null ? BASELINE_MEAN_X : expectedOf(query.row);
    return { ...query, matchedSurprise: matchedSurprise(query.surprise, expected, meanExcess) };
  });
  const density = densityOfQueries(measured);
  const means = sessionMeans(
    Float64Array.from(measured, (query) => query.matchedSurprise),
    measured.map(({ region }) => region),
    measured.map(({ sessionNumber }) => sessionNumber),
  );
  return {
    ...ranked,
    /** Measured queries, ordered by id. */
    queries: measured,
    /** Coverage of the window; null if no query is measurable. */
    density,
    /** Mean matched surprises. */
    means,
    scores: detectorScores(means),
  };
}

function densityOfQueries(queries: readonly (RankedQuery & { readonly matchedSurprise: number })[]) {
  return queryDensity(
    queries.map(({ ranks }) => ranks),
    Float64Array.from(queries, ({ matchedSurprise }) => matchedSurprise),
    queries.map(({ region }) => region),
    queries.map(({ sessionNumber }) => sessionNumber),
  );
}

export type RankedQuery = ReturnType<typeof rankQueries>['queries'][number];

/**
 * Ranks queries among the baseline queries of their regions. The order of the queries does not affect the result.
 *
 * @throws RangeError if the vectors and the baseline have different dimensions
 */
export function rankQueries(
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
    const found = densityOfQueries(own);
    if (found !== null) totals[name] = coverageTotals(found);
  }
  return totals;
}
