import { around, bySize, type FaultKind, some } from '../fault.ts';
import { prefixOf } from '../texts.ts';

export const kind: FaultKind = {
  name: 'vectors-of-first-words',
  title: 'the indexing embedder truncates its input, so that vectors describe only the first words of chunks',
  causes: ['embedding_model'],
  // In LIMIT, and with MiniLM on English texts, the reranker finds the relevant document in spite of the fault.
  fits: ({ shape }) =>
    shape.retriever === 'dense' ||
    (shape.retriever === 'dense-rerank' &&
      shape.corpus !== 'limit-small' &&
      !(shape.encoder === 'minilm' && shape.corpus === 'xquad-en')),
  begin({ size, random, material }) {
    // Chunks that were indexed before the limit was lowered keep the vectors of their whole texts.
    const hurt = some(material.rows, Math.min(1, around(random, bySize(size, 0.3, 0.35, 1.3))), random);
    const share = bySize(size, 0.25, 0.1, 0.1);
    const vectors = new Map(hurt.map(({ id, text }) => [id, material.embed(prefixOf(text, share))]));
    return { rows: (rows) => rows.map((row) => ({ ...row, vector: vectors.get(row.id) ?? row.vector })) };
  },
};
