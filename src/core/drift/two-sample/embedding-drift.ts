/** How far the vectors of two sets of queries differ. It describes; a change of topics alone is no loss of coverage. */
import { createRandom } from '../../stats/random.ts';
import { type Matrix, selectRows } from '../../vector/matrix.ts';
import { type CentroidShift, centroidShift } from './centroid.ts';
import { energyDistance } from './energy-distance.ts';
import {
  drawAssignments,
  drawRows,
  maximumMeanDiscrepancy,
  medianHeuristic,
  twoBandwidthTest,
} from './mmd.ts';
import { medianSquaredDistance, pairDistances, unitVectors } from './pair-distances.ts';

/** Statistics of vectors scaled to length 1. */
export interface EmbeddingDrift {
  /** Squared maximum mean discrepancy, unbiased, with gamma = 1 / median squared distance of the pooled rows. */
  readonly mmdUnbiased: number;
  /** p value of the permutation test with the bandwidths of gamma and 6 gamma. */
  readonly mmdP: number;
  /** In the U form. */
  readonly energyDistance: number;
  /** Of all rows. */
  readonly centroid: CentroidShift;
  /** Rows that the statistics over all pairs were computed on. */
  readonly sampled: { readonly reference: number; readonly current: number };
}

const MOST_PAIRED_ROWS = 2000;
const PERMUTATIONS = 199;

/**
 * Compares two samples of vectors. The same rows and seed give the same result.
 *
 * @param reference at least two rows of any length but zero
 * @param current the same
 * @param mostPairedRows of each sample; of more, that many are drawn for the statistics over all pairs
 * @throws RangeError if a sample is too small or has a zero vector, or the columns differ
 */
export function compareEmbeddings(
  reference: Matrix,
  current: Matrix,
  seed: number,
  mostPairedRows: number = MOST_PAIRED_ROWS,
): EmbeddingDrift {
  const fillRandom = createRandom(seed);
  const subsample = (rows: Matrix): Matrix =>
    rows.rows <= mostPairedRows
      ? rows
      : selectRows(rows, drawRows(mostPairedRows, rows.rows, fillRandom).toSorted());
  const x = subsample(reference);
  const y = subsample(current);
  const distances = pairDistances(unitVectors(x), unitVectors(y));
  const gamma = medianHeuristic(medianSquaredDistance(distances, 'pooled'));
  const assignments = drawAssignments(x.rows, y.rows, PERMUTATIONS, seed + 1);
  return {
    mmdUnbiased: maximumMeanDiscrepancy(distances, gamma).unbiased,
    mmdP: twoBandwidthTest(distances, gamma, assignments).p,
    energyDistance: energyDistance(distances).u,
    centroid: centroidShift(reference, current),
    sampled: { reference: x.rows, current: y.rows },
  };
}
