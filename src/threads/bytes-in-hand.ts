/** Bounds what waits for a thread by its bytes: bodies differ by a factor of a thousand. */
import { RecalldError } from '../errors.ts';

/**
 * @param refusal says to whoever is refused what is too much
 * @returns does work that holds so many bytes; rejects with RecalldError overloaded when they are too many with those
 * of the work under way
 */
export function createBytesInHand(
  most: number,
  refusal: string,
): <T>(bytes: number, work: () => Promise<T>) => Promise<T> {
  let inHand = 0;
  return async (bytes, work) => {
    if (inHand + bytes > most) throw new RecalldError('overloaded', refusal);
    inHand += bytes;
    try {
      return await work();
    } finally {
      inHand -= bytes;
    }
  };
}
