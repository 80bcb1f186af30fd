/** How well two samples of vectors cover each other, by balls that reach to the k-th neighbour: Naeem et al. 2020. */
import { type PairTable, pairOffset } from './pair-distances.ts';

/**
 * x is the sample that is to be covered ("real"), y the one that is held against it ("fake"). A ball is around each
 * row and reaches to its k-th neighbour in its own sample, itself left out; what lies on its surface is outside.
 */
export interface ManifoldCoverage {
  /** Share of y inside at least one ball of x. */
  readonly precision: number;
  /** Share of x inside at least one ball of y. */
  readonly recall: number;
  /** Balls of x around a row of y, on average, over k; 1 when both have the same distribution, may exceed it. */
  readonly density: number;
  /** Share of x whose ball holds a row of y. */
  readonly coverage: number;
  /** Radius of the ball of each row of x. */
  readonly radii: Float64Array;
}

/**
 * Precision, recall, density and coverage of y with respect to x. The radius is that of the last neighbour when a
 * sample has k rows or fewer.
 *
 * @param k >= 1
 * @throws RangeError if a sample has fewer than two rows
 */
export function manifoldCoverage(distances: PairTable, k: number): ManifoldCoverage {
  const { n, m, values } = distances;
  if (n < 2 || m < 2) throw new RangeError('Coverage needs at least two rows in each sample.');
  const size = n + m;
  const radiiX = squaredRadii(distances, 0, n, k);
  const radiiY = squaredRadii(distances, n, size, k);
  const ballsAroundY = new Uint32Array(m);
  let recalled = 0;
  let covered = 0;
  for (let i = 0; i < n; i++) {
    const offset = pairOffset(size, i);
    let holdsY = false;
    let isInside = false;
    for (let j = 0; j < m; j++) {
      const distance = values[offset + n + j] ?? 0;
      if (distance < (radiiX[i] ?? 0)) {
        holdsY = true;
        ballsAroundY[j] = (ballsAroundY[j] ?? 0) + 1;
      }
      if (distance < (radiiY[j] ?? 0)) isInside = true;
    }
    if (holdsY) covered++;
    if (isInside) recalled++;
  }
  return {
    precision: ballsAroundY.reduce((count, balls) => count + (balls > 0 ? 1 : 0), 0) / m,
    recall: recalled / n,
    density: ballsAroundY.reduce((sum, balls) => sum + balls, 0) / (Math.min(k, n - 1) * m),
    coverage: covered / n,
    radii: radiiX.map(Math.sqrt),
  };
}

/** Squared distance of each row in [from, to) of the pool to its k-th neighbour among them. */
function squaredRadii({ n, m, values }: PairTable, from: number, to: number, k: number): Float64Array {
  const radii = new Float64Array(to - from);
  const others = new Float64Array(to - from - 1);
  for (let row = from; row < to; row++) {
    let filled = 0;
    for (let other = from; other < to; other++) {
      if (other === row) continue;
      const place = pairOffset(n + m, Math.min(row, other)) + Math.max(row, other);
      others[filled++] = values[place] ?? 0;
    }
    radii[row - from] = others.toSorted()[Math.min(k, others.length) - 1] ?? 0;
  }
  return radii;
}
