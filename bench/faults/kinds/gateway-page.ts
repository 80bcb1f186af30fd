import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'gateway-page',
  title: 'the gateway answers with its own error page',
  causes: ['error_page', 'retriever_failing'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.15, 0.4, 0.8)));
    return {
      call: (call) => (asked) =>
        random.uniform() < share
          ? {
              kind: 'body',
              status: 502,
              body: '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>',
              latencyMs: 0,
            }
          : call(asked),
    };
  },
};
