import { DAY_MS } from '../../time.ts';
import { baselineScores, NO_REGION, percentile } from '../coverage/percentile.ts';

export interface DatedScore {
  readonly score: number;
  readonly region: number;
  readonly occurredAt: Date;
}

/**
 * Percentiles of the baseline's own queries, cross-fitted: those of odd days (UTC) among the scores of even days and
 * the other way round. A query is not compared with itself nor with others of its hour, which would make the
 * baseline look better covered than live traffic can be.
 *
 * @returns in the order of the queries; null when all lie on odd days, or all on even ones
 */
export function crossFitPercentiles(
  queries: readonly DatedScore[],
  regionCount: number,
): Float64Array | null {
  const isOdd = ({ occurredAt }: DatedScore): boolean => Math.floor(occurredAt.getTime() / DAY_MS) % 2 !== 0;
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
  return Float64Array.from(queries, (query) =>
    percentile(query.score, query.region, isOdd(query) ? evenScores : oddScores),
  );
}
