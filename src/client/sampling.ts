/** Local sampling: which sessions are told at all, the same ones in every process of the host. */

const HASH_RANGE = 2 ** 32;

/**
 * Whether a key falls into the sample, for a rate in [0, 1]. The same key is always decided alike, and a key that is
 * kept at a rate is kept at every higher one.
 */
export function isSampled(key: string, rate: number): boolean {
  return hash(key) < rate * HASH_RANGE;
}

/**
 * FNV-1a over the UTF-16 units, mixed by the finalizer of MurmurHash3, since FNV alone leaves the upper bits of short
 * keys uneven. It must stay another function than the daemon's SHA-256: were they one, the daemon would keep all or
 * none of what is sent to it, instead of its own share.
 */
function hash(key: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) h = Math.imul(h ^ key.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
