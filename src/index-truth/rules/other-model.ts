/** Whether a stored vector is one that the embedder would have made of the stored text. */
import { cosineSimilarity } from '../../vector/matrix.ts';

/** An embedder that does not give the same vector again is allowed several times what it differs by. */
const TIMES_NOISE = 4;

interface EmbeddedAgain {
  readonly stored: Float32Array;
  /** Of its text, now. */
  readonly again: Float32Array;
  /** Of the same text, once more. */
  readonly repeated: Float32Array;
}

/**
 * @param leastCosine to the stored vector that the same model gives; stores that keep vectors in 8 bits lose little of it
 */
export function isOfOtherModel({ stored, again, repeated }: EmbeddedAgain, leastCosine: number): boolean {
  if (stored.length !== again.length) return true;
  const noise = 1 - cosineSimilarity(again, repeated);
  return 1 - cosineSimilarity(stored, again) > Math.max(1 - leastCosine, TIMES_NOISE * noise);
}
