import { around, bySize, type FaultKind } from '../fault.ts';
import { fitted } from '../foreign-vectors.ts';
import { readVectors } from '../vectors.ts';

export const kind: FaultKind = {
  name: 'embedder-fallback',
  title: 'the embedding service answers a part of the calls with a fallback model',
  causes: ['embedding_model'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.15, 0.4, 0.75));
    const other = readVectors(material.shape.encoder === 'minilm' ? 'use-lite' : 'minilm');
    const embedNow = (text: string): Float32Array => {
      const own = material.embed(text);
      return random.uniform() < share ? fitted(() => other(text), own) : own;
    };
    return {
      embed: () => embedNow,
      // Passes a newly embedded vector with each query, because the search would otherwise return cached results for
      // the text.
      search: (search) => (asked) => search({ ...asked, vector: asked.vector ?? embedNow(asked.text) }),
    };
  },
};
