import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'misaligned-vectors',
  title: 'a batch of documents is stored with the vectors of its neighbours',
  causes: ['embedding_model'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    const hurt = some(material.rows, around(random, bySize(size, 0.08, 0.25, 0.7)), random);
    const vectors = new Map(hurt.map((row, at) => [row, hurt[(at + 1) % hurt.length]?.vector ?? row.vector]));
    return { rows: (rows) => rows.map((row) => ({ ...row, vector: vectors.get(row) ?? row.vector })) };
  },
};
