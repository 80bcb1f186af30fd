import { around, bySize, type FaultKind } from '../fault.ts';

/** Largest number of requests that the batcher puts into one batch. */
const BATCH = 4;

export const kind: FaultKind = {
  name: 'batcher-swaps-vectors',
  title: 'the batcher of the embedding service gives concurrent queries the vectors of each other',
  causes: ['foreign_answers', 'embedding_model', 'random_answers'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.07, 0.25, 0.7));
    let left = 0;
    let isShifted = false;
    let previous: string | undefined;
    /** A full batch loses its order: each request gets the vector of the previous request. */
    const embedNow = (text: string): Float32Array => {
      if (left === 0) {
        left = 2 + random.below(BATCH - 1);
        isShifted = random.uniform() < share;
      }
      left--;
      const other = previous;
      previous = text;
      return material.embed(isShifted ? (other ?? text) : text);
    };
    return {
      embed: () => embedNow,
      // Passes the vector with the query, because the search would otherwise return cached results for the text.
      search: (search) => (asked) => search({ ...asked, vector: asked.vector ?? embedNow(asked.text) }),
    };
  },
};
