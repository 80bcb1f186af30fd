/** Maximum mean discrepancy in time linear in the rows, by random Fourier features (Rahimi and Recht 2007). */
import { createRandom } from '../../stats/random.ts';
import type { Vectors } from './pair-distances.ts';

/**
 * Frequencies for the kernel exp(-gamma |a - b|^2): rows from the normal distribution with variance 2 gamma in each
 * column. The same seed gives the same frequencies.
 *
 * @param count number of frequencies; the error of the discrepancy falls with its root
 */
export function drawFrequencies(count: number, columns: number, gamma: number, seed: number): Vectors {
  const size = count * columns;
  const draws = new Uint32Array(2 * Math.ceil(size / 2));
  createRandom(seed)(draws);
  const data = new Float64Array(draws.length);
  // Box and Muller 1958: two uniforms make two normals.
  for (let i = 0; i < draws.length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(((draws[i] ?? 0) + 0.5) / 2 ** 32) * 2 * gamma);
    const angle = (2 * Math.PI * (draws[i + 1] ?? 0)) / 2 ** 32;
    data[i] = radius * Math.cos(angle);
    data[i + 1] = radius * Math.sin(angle);
  }
  return { rows: count, columns, data: data.subarray(0, size) };
}

/**
 * The features of a row: [cos(w a); sin(w a)] / sqrt(D) over the D frequencies w. Their inner products approximate the
 * kernel.
 */
export function fourierFeatures(vectors: Vectors, row: number, frequencies: Vectors): Float64Array {
  const count = frequencies.rows;
  const { columns } = vectors;
  const scale = 1 / Math.sqrt(count);
  const features = new Float64Array(2 * count);
  for (let f = 0; f < count; f++) {
    let angle = 0;
    for (let k = 0; k < columns; k++) {
      angle += (frequencies.data[f * columns + k] ?? 0) * (vectors.data[row * columns + k] ?? 0);
    }
    features[f] = scale * Math.cos(angle);
    features[count + f] = scale * Math.sin(angle);
  }
  return features;
}

/**
 * Squared distance of the mean features of two samples: the biased squared maximum mean discrepancy, approximately.
 *
 * @throws RangeError if a sample is empty
 */
export function fourierDiscrepancy(x: Vectors, y: Vectors, frequencies: Vectors): number {
  const meanX = meanFeatures(x, frequencies);
  const meanY = meanFeatures(y, frequencies);
  return meanX.reduce((sum, value, i) => sum + (value - (meanY[i] ?? 0)) ** 2, 0);
}

function meanFeatures(vectors: Vectors, frequencies: Vectors): Float64Array {
  if (vectors.rows === 0) throw new RangeError('Both samples need at least one row.');
  const mean = new Float64Array(2 * frequencies.rows);
  for (let row = 0; row < vectors.rows; row++) {
    const features = fourierFeatures(vectors, row, frequencies);
    for (let i = 0; i < mean.length; i++) mean[i] = (mean[i] ?? 0) + (features[i] ?? 0) / vectors.rows;
  }
  return mean;
}
