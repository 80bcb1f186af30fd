import { around, bySize, type FaultKind } from '../fault.ts';
import { foreign } from '../foreign-vectors.ts';

export const kind: FaultKind = {
  name: 'query-model-revised',
  title: 'queries are embedded by another revision of the model',
  causes: ['embedding_model'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random }) {
    const strength = around(random, bySize(size, 0.38, 0.48, 0.7));
    return { embed: (embed) => (text) => foreign(embed(text), Math.min(1, strength)) };
  },
};
