import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'rate-limited',
  title: 'the service limits the rate of calls',
  causes: ['rate_limited'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.15, 0.4, 0.85)));
    return {
      call: (call) => (asked) =>
        random.uniform() < share
          ? { kind: 'body', status: 429, body: '{"error":"too many requests"}', latencyMs: 0 }
          : call(asked),
    };
  },
};
