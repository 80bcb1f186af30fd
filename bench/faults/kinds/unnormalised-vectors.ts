import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'unnormalised-vectors',
  title: 'a batch of documents is indexed without normalising the vectors, and the search uses the inner product',
  causes: ['embedding_model', 'ranking'],
  // With MiniLM on English texts, the reranker finds the relevant document in spite of the fault.
  fits: ({ shape }) =>
    shape.retriever === 'dense' ||
    (shape.retriever === 'dense-rerank' && !(shape.encoder === 'minilm' && shape.corpus === 'xquad-en')),
  begin({ size, random, material }) {
    const batch = some(material.rows, around(random, bySize(size, 0.08, 0.2, 0.4)), random);
    const lengths = new Map(batch.map((row) => [row, around(random, bySize(size, 1.7, 2, 3))]));
    return {
      rows: (rows) =>
        rows.map((row) => {
          const length = lengths.get(row);
          return length === undefined ? row : { ...row, vector: row.vector.map((value) => length * value) };
        }),
    };
  },
};
