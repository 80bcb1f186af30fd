import type { Clustering } from '../../clustering/lloyd.ts';
import { median } from '../../stats/median.ts';
import { inverseLengths, lengthOf, type Matrix, rowOf } from '../../vector/matrix.ts';
import { dotProduct } from '../../vector/similarity.ts';

export interface MergedCluster {
  /** Labels of the clusters that it was merged of. */
  readonly labels: readonly number[];
  /** Direction of the sum of its rows' directions. */
  readonly centroid: Float64Array;
  readonly rows: readonly number[];
  /** Of each row to the centroid. */
  readonly cosines: readonly number[];
}

/**
 * Merges the given clusters whose centroids have a cosine above the median cosine of their rows to their own
 * centroids; clusters that are linked through others are one as well.
 *
 * @param rows what was clustered
 * @param chosen labels of the clusters that take part
 */
export function mergeLike(rows: Matrix, clustering: Clustering, chosen: readonly number[]): MergedCluster[] {
  const own = [...clustering.labels.entries()].filter(([, label]) => chosen.includes(label));
  if (own.length === 0) return [];
  const usual = median(own.map(([row]) => clustering.closeness[row] ?? 0));
  const groups = new Map(chosen.map((label) => [label, label]));
  for (const a of chosen) {
    for (const b of chosen) {
      if (a >= b || centroidCosine(clustering, rows.columns, a, b) <= usual) continue;
      const [kept, lost] = [groups.get(a) ?? a, groups.get(b) ?? b];
      for (const [label, group] of groups) if (group === lost) groups.set(label, kept);
    }
  }
  const scales = inverseLengths(rows);
  return [...new Set(groups.values())].map((group) => {
    const labels = chosen.filter((label) => groups.get(label) === group);
    const members = own.filter(([, label]) => labels.includes(label)).map(([row]) => row);
    const centroid = new Float64Array(rows.columns);
    for (const row of members) {
      for (const [c, value] of rowOf(rows, row).entries()) {
        centroid[c] = (centroid[c] ?? 0) + value * (scales[row] ?? 0);
      }
    }
    const length = lengthOf(centroid);
    const unit = length > 0 ? centroid.map((value) => value / length) : centroid;
    return {
      labels,
      centroid: unit,
      rows: members,
      cosines: members.map((row) => dotProduct(rowOf(rows, row), unit) * (scales[row] ?? 0)),
    };
  });
}

function centroidCosine({ centroids }: Clustering, columns: number, a: number, b: number): number {
  return dotProduct(
    centroids.subarray(a * columns, (a + 1) * columns),
    centroids.subarray(b * columns, (b + 1) * columns),
  );
}
