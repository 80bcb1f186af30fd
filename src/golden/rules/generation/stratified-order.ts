/** The order in which questions are asked about chunks: wherever it stops, all topics of the store have their share. */

import { createRandom } from '../../../stats/random.ts';
import type { Matrix } from '../../../vector/matrix.ts';
import { seededSphericalKMeans } from '../../../vector/spherical-k-means.ts';

const STARTS = 2;
const ITERATIONS = 15;
const MOST_CLUSTERS = 50;

/**
 * An order of all rows of which every beginning holds each cluster in proportion to its size, up to chance: within a
 * cluster of m rows the row at place i of a random order gets the key (i + u) / m, u uniform in [0, 1) for the
 * cluster, and the keys are sorted (systematic sampling, Madow 1949). Clusters are those of spherical k-means, about
 * sqrt(rows / 2) of them. The same seed gives the same order.
 */
export function stratifiedOrder(rows: Matrix, seed: number): number[] {
  if (rows.rows === 0) return [];
  const k = Math.max(1, Math.min(MOST_CLUSTERS, Math.round(Math.sqrt(rows.rows / 2))));
  const { labels } = seededSphericalKMeans(rows, { k, starts: STARTS, iterations: ITERATIONS, seed });
  const random = createRandom(seed);
  const numbers = new Uint32Array(rows.rows + k);
  random(numbers);
  const uniform = (index: number): number => (numbers[index] ?? 0) / 2 ** 32;
  const members = Array.from({ length: k }, (): number[] => []);
  for (const [row, label] of labels.entries()) members[label]?.push(row);
  const keys = new Float64Array(rows.rows);
  for (const [label, own] of members.entries()) {
    const shuffled = own.toSorted((a, b) => uniform(a) - uniform(b) || a - b);
    for (const [place, row] of shuffled.entries())
      keys[row] = (place + uniform(rows.rows + label)) / own.length;
  }
  return [...keys.keys()].toSorted((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0) || a - b);
}
