import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'live-only-errors',
  title: 'live queries fail and golden ones do not',
  causes: ['live_traffic'],
  begin({ size, random }) {
    const share = around(random, bySize(size, 0.1, 0.25, 0.6));
    return {
      call: (call) => (asked) =>
        asked.origin === 'live' && random.uniform() < share
          ? { kind: 'body', status: 500, body: '{"error":"internal error"}', latencyMs: 0 }
          : call(asked),
    };
  },
};
