/** One scale for the scores of all stores. */

/** Sum of the products, in double precision. @throws RangeError when the vectors differ in length */
export function dotProduct(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) {
    throw new RangeError(`The vectors have ${a.length} and ${b.length} numbers; both must have as many.`);
  }
  let sum = 0;
  for (let index = 0; index < a.length; index += 1) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}

/** Cosine of the angle between two vectors, -1 to 1; 0 when one of them is the zero vector, which has no direction. */
export function cosineSimilarity(a: Float32Array, b: Float32Array): number {
  const norms = Math.sqrt(dotProduct(a, a) * dotProduct(b, b));
  return norms === 0 ? 0 : clamp(dotProduct(a, b) / norms);
}

/**
 * The cosine that a score of a cosine index stands for; rounding beyond -1 and 1 is cut. Scores of indexes over dot
 * products or Euclidean distances say nothing about the angle unless every vector has length 1, so for those the
 * vectors themselves must be compared.
 */
export function cosineOfScore(score: number, kind: 'cosine' | 'cosine_distance' | 'shifted_cosine'): number {
  switch (kind) {
    case 'cosine':
      return clamp(score);
    case 'cosine_distance':
      return clamp(1 - score);
    case 'shifted_cosine':
      return clamp(2 * score - 1);
  }
}

function clamp(cosine: number): number {
  return Math.min(1, Math.max(-1, cosine));
}
