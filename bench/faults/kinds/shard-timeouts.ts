import { hashText } from '../../../src/demo/rag/hashed-tfidf.ts';
import { around, bySize, type FaultKind, some } from '../fault.ts';

const SHARDS = [0, 1, 2, 3];

export const kind: FaultKind = {
  name: 'shard-timeouts',
  title: 'shards of an overloaded cluster time out, and the search returns what the other shards found',
  causes: ['partial_results', 'retriever_slow', 'retriever_failing'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.22, 0.6, 0.9)));
    const late = bySize(size, 0.25, 0.25, 0.5);
    const shardTimeoutMs = around(random, 500);
    const seed = random.below(1e9);
    return {
      call: (call) => (asked) => {
        if (random.uniform() >= share) return call(asked);
        const missing = new Set(some(SHARDS, late, random));
        const isFound = (id: string): boolean => !missing.has(hashText(id, seed) % SHARDS.length);
        return { ...call({ ...asked, allows: ({ id }) => isFound(id) }), latencyMs: shardTimeoutMs };
      },
    };
  },
};
