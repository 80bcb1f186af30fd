import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'reranker-timeouts',
  title: 'the reranker times out for a part of the calls, which then return the order of the first stage',
  causes: ['ranking', 'partial_results', 'retriever_slow'],
  // With MiniLM on English texts, the reranker hardly changes the order of the results.
  fits: ({ shape }) =>
    shape.retriever === 'dense-rerank' && !(shape.encoder === 'minilm' && shape.corpus === 'xquad-en'),
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.3, 0.55, 0.9)));
    const timeoutMs = around(random, 150);
    return {
      call: (call) => (asked) =>
        random.uniform() < share ? { ...call({ ...asked, reranked: 0 }), latencyMs: timeoutMs } : call(asked),
    };
  },
};
