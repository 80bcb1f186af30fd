import { hashText } from '../../../src/demo/rag/hashed-tfidf.ts';
import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'narrow-search',
  title: 'the search of the index looks at a part of the documents for each query',
  causes: ['index_parameters'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random }) {
    const missed = around(random, bySize(size, 0.08, 0.2, 0.5));
    const seed = random.below(1e9);
    return {
      search: (search) => (asked) =>
        search({ ...asked, allows: ({ id }) => hashText(`${id} ${asked.text}`, seed) / 2 ** 32 >= missed }),
    };
  },
};
