import type { SamplingPolicy, SamplingTraits } from '../../../../../src/live/rules/sampling/decision.ts';

export function aQuery(changes: Partial<SamplingTraits> = {}): SamplingTraits {
  return {
    pipeline: 'support-docs',
    id: 'q1',
    sessionId: 's1',
    episodeId: null,
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
