/** The long lists of numbers of a baseline, one after the other as bytes. */
import type { BaselineScores } from '../../../core/drift/coverage/percentile.ts';
import type { Regions } from '../../../core/drift/coverage/regions.ts';
import { bytesOfNumbers, numbersOfBytes } from '../vector-bytes.ts';

export interface BaselineArrays {
  readonly regions: Regions;
  readonly scores: BaselineScores;
}

/** How the bytes are to be cut. */
export interface ArrayShape {
  readonly regions: number;
  readonly columns: number;
  readonly scores: number;
  readonly regionScores: readonly number[];
}

export function arrayShape({ regions, scores }: BaselineArrays): ArrayShape {
  return {
    regions: regions.count,
    columns: regions.columns,
    scores: scores.all.length,
    regionScores: scores.regions.map(({ length }) => length),
  };
}

export function bytesOfArrays({ regions, scores }: BaselineArrays): Buffer {
  return Buffer.concat([regions.centroids, scores.all, ...scores.regions].map(bytesOfNumbers));
}

/** @throws RangeError when the bytes do not have the shape */
export function arraysOfBytes(bytes: Uint8Array, shape: ArrayShape): BaselineArrays {
  const numbers = numbersOfBytes(bytes);
  let at = 0;
  const take = (length: number): Float64Array => numbers.slice(at, (at += length));
  const centroids = take(shape.regions * shape.columns);
  const all = take(shape.scores);
  const regions = shape.regionScores.map(take);
  if (at !== numbers.length)
    throw new RangeError('A stored baseline does not have the length that it tells.');
  return { regions: { count: shape.regions, columns: shape.columns, centroids }, scores: { all, regions } };
}
