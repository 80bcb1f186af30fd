import { bySize, type FaultKind, someTexts } from '../fault.ts';

export const kind: FaultKind = {
  name: 'dimensions-lowered',
  title: 'the search shortens the vectors of queries and documents to their first dimensions to save memory',
  causes: ['index_parameters'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    const isHurt = someTexts(random, bySize(size, 0.7, 0.85, 1));
    const { encoder, retriever } = material.shape;
    // The small encoder orders its dimensions by variance, so that the first ones hold most of a text.
    const isMinilm = encoder === 'minilm';
    const few = isMinilm ? bySize(size, 72, 48, 20) : bySize(size, 11, 8, 5);
    // A reranker corrects the order of what it gets, so only a shorter vector does as much harm.
    const kept = retriever === 'dense' ? (isMinilm ? 2 : 3) * few : few;
    return {
      search: (search) => (asked) => {
        if (!isHurt(asked.text)) return search(asked);
        const whole = asked.vector ?? material.embed(asked.text);
        // Zeros in the query leave the same inner products as cutting both vectors.
        return search({ ...asked, vector: whole.map((value, at) => (at < kept ? value : 0)) });
      },
    };
  },
};
