import { createRandom } from '../../src/math/stats/random.ts';

/** Numbers in [0, 1) from a seed. */
export function uniforms(seed: number): () => number {
  const random = createRandom(seed);
  const block = new Uint32Array(1024);
  let used = block.length;
  return () => {
    if (used === block.length) {
      random(block);
      used = 0;
    }
    return (block[used++] ?? 0) / 2 ** 32;
  };
}
