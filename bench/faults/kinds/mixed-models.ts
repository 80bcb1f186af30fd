import { around, bySize, type FaultKind, some } from '../fault.ts';
import { foreign } from '../foreign-vectors.ts';

export const kind: FaultKind = {
  name: 'mixed-models',
  title: 'some documents are embedded by another model than the others',
  causes: ['embedding_model'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    const other = new Set(some(material.rows, around(random, bySize(size, 0.1, 0.3, 0.6)), random));
    return { rows: (rows) => rows.map((row) => (other.has(row) ? { ...row, vector: foreign(row.vector, 1) } : row)) };
  },
};
