import { around, bySize, type FaultKind } from '../fault.ts';
import { createSearch, type Hit } from '../search.ts';

/** Number of golden queries whose answers show how long answers are. */
const SAMPLE = 100;
const K = 10;

/** The whole response, with the texts of the documents, which make some responses longer than others. */
function bodyOf(hits: readonly Hit[]): string {
  return JSON.stringify({ results: hits });
}

export const kind: FaultKind = {
  name: 'gateway-cuts-long-answers',
  title: 'a gateway limits the length of responses, and longer responses arrive cut off',
  causes: ['retriever_failing'],
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.12, 0.3, 0.7));
    const search = createSearch(material.shape, material.rows, material.embed);
    const lengths = material.golden
      .slice(0, SAMPLE)
      .map(({ text }) => bodyOf(search({ text, k: K, segments: {}, origin: 'golden' })).length)
      .toSorted((a, b) => a - b);
    const limit = lengths[Math.floor((1 - share) * lengths.length)] ?? 0;
    return {
      call: (call) => (asked) => {
        const reply = call(asked);
        if (reply.kind !== 'hits') return reply;
        const body = bodyOf(reply.hits);
        if (body.length <= limit) return reply;
        return { kind: 'body', status: 200, body: body.slice(0, limit), latencyMs: reply.latencyMs };
      },
    };
  },
};
