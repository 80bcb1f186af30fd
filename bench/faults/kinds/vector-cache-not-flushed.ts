import { around, bySize, type FaultKind, some } from '../fault.ts';

/**
 * Returns the new model's vector of a text, given its earlier vector. The new model is as good as the earlier one,
 * because all its vectors have their dimensions in reverse order.
 */
function renewed(vector: Float32Array): Float32Array {
  return vector.toReversed();
}

export const kind: FaultKind = {
  name: 'vector-cache-not-flushed',
  title: 'documents and queries move to another model, but a cache returns the earlier vectors of the queries it knows',
  causes: ['embedding_model'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    const share = Math.min(1, around(random, bySize(size, 0.12, 0.35, 0.8)));
    const queries = [...material.golden, ...material.live];
    const cached = new Set(some(queries, share, random).map(({ text }) => text));
    return {
      rows: (rows) => rows.map((row) => ({ ...row, vector: renewed(row.vector) })),
      embed: (embed) => (text) => (cached.has(text) ? embed(text) : renewed(embed(text))),
    };
  },
};
