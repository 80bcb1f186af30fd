/** Places in the random order of documents: 64 bits of a hash of their ids. */

/** Before all others. */
export const FIRST_PLACE = { place: '-9223372036854775808', id: '' };

/** @param uniform in [0, 1) */
export function drawnPlace(uniform: number): string {
  const high = BigInt(Math.floor(uniform * 2 ** 32));
  return String((high << 32n) - 2n ** 63n);
}
