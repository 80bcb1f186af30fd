import type { SamplingPolicy, SamplingTraits } from '../../../../src/core/sampling/decision.ts';
import { createRandom } from '../../../../src/core/stats/random.ts';

export function aQuery(changes: Partial<SamplingTraits> = {}): SamplingTraits {
  return {
    pipeline: 'support-docs',
    id: 'q1',
    sessionId: 's1',
    traceId: 't1',
    segments: {},
    outcome: 'ok',
    similarity: null,
    hasNegativeFeedback: false,
    upstreamProbability: 1,
    ...changes,
  };
}

export function aPolicy(changes: Partial<SamplingPolicy> = {}): SamplingPolicy {
  return {
    rates: { rate: 0.1, segments: {} },
    alwaysKeep: [],
    budget: Number.POSITIVE_INFINITY,
    ...changes,
  };
}

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
