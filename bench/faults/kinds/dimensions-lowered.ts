import { bySize, type FaultKind, someTexts } from '../fault.ts';

export const kind: FaultKind = {
  name: 'dimensions-lowered',
  title: 'the search shortens the vectors of queries and documents to their first dimensions to save memory',
  causes: ['index_parameters'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    const isHurt = someTexts(random, bySize(size, 0.7, 0.85, 1));
    const { encoder, retriever } = material.shape;
    // The small encoder orders its dimensions by variance, so the first dimensions contain most of the information
    // about a text.
    const isMinilm = encoder === 'minilm';
    const few = isMinilm ? bySize(size, 72, 48, 20) : bySize(size, 11, 8, 5);
    // A reranker corrects the order of its candidates, so the same harm requires a shorter vector.
    const kept = retriever === 'dense' ? (isMinilm ? 2 : 3) * few : few;
    return {
      search: (search) => (asked) => {
        if (!isHurt(asked.text)) return search(asked);
        const whole = asked.vector ?? material.embed(asked.text);
        // Zeros in the query yield the same inner products as truncating both vectors.
        return search({ ...asked, vector: whole.map((value, at) => (at < kept ? value : 0)) });
      },
    };
  },
};
