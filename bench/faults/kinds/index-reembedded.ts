import { around, bySize, type FaultKind } from '../fault.ts';
import { foreign } from '../foreign-vectors.ts';

export const kind: FaultKind = {
  name: 'index-reembedded',
  title: 'all documents are embedded by another model, and queries are not',
  causes: ['embedding_model'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random }) {
    const strength = around(random, bySize(size, 0.4, 0.5, 0.8));
    return {
      rows: (rows) => rows.map((row) => ({ ...row, vector: foreign(row.vector, Math.min(1, strength)) })),
      deployments: [{ kind: 'index', version: 'embedded-anew' }],
    };
  },
};
