import type { SamplingPolicy, SamplingTraits } from '../../../../../src/live/rules/sampling/decision.ts';

export function aQuery(changes: Partial<SamplingTraits> = {}): SamplingTraits {
  return {
    pipeline: 'support-docs',
    id: 'q1',
    sessionId: 's1',
    episode: null,
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
    rate: 0.1,
    segments: {},
    always_keep: [],
    low_similarity_below: null,
    budget: Number.POSITIVE_INFINITY,
    ...changes,
  };
}
