/** Whether one window, looked at once, is worse covered than a reference sample. */
import { normalQuantile } from '../../stats/normal.ts';
import { type BaselineScores, FEWEST_IN_REGION } from './percentile.ts';
import { type QueryDensity, SURPRISE_VARIANCE } from './query-density.ts';

export interface CoverageVerdict {
  readonly verdict: 'worse_covered' | 'not_worse';
  /** Upper limit of the query density with confidence 1 - alpha. */
  readonly densityUpperLimit: number;
}

/** A density down to here is fine: a tiny change is not worth an alarm, however certain. */
export const DENSITY_FLOOR = 0.95;

/**
 * `worse_covered` when the one-sided upper limit D exp(z sqrt(0.9 (1/sessions + e))) of the density is below the floor;
 * z is the 1 - alpha quantile of the normal distribution.
 *
 * e = sum share^2 / N over the score lists that the percentiles came from. It is the error of percentiles that are
 * taken from N reference queries: the mean surprise is a linear rank statistic, whose variance has an equal part from
 * either sample (Hajek 1968). It holds for one look at a window; a watch over many windows needs the e-detector. The
 * reference queries count as independent.
 *
 * @param alpha in (0, 0.5]
 * @param baseline the scores that the window's percentiles were taken from
 */
export function judgeCoverage(
  window: QueryDensity,
  baseline: BaselineScores,
  alpha: number,
): CoverageVerdict {
  const variance = SURPRISE_VARIANCE * (1 / window.sessions + percentileError(window, baseline));
  const densityUpperLimit = window.density * Math.exp(-normalQuantile(alpha) * Math.sqrt(variance));
  return {
    verdict: densityUpperLimit < DENSITY_FLOOR ? 'worse_covered' : 'not_worse',
    densityUpperLimit,
  };
}

function percentileError({ regions }: QueryDensity, baseline: BaselineScores): number {
  let error = 0;
  let shareOfAll = 1;
  for (const { region, share } of regions) {
    const size = baseline.regions[region]?.length ?? 0;
    if (size < FEWEST_IN_REGION) continue;
    error += share ** 2 / size;
    shareOfAll -= share;
  }
  return error + Math.max(0, shareOfAll) ** 2 / baseline.all.length;
}
