import { bySize, type FaultKind, someTexts } from '../fault.ts';

export const kind: FaultKind = {
  name: 'constant-query-vector',
  title: 'queries are embedded to one and the same vector',
  causes: ['random_answers', 'embedding_model'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    const isHurt = someTexts(random, bySize(size, 0.25, 0.6, 1));
    const constant = material.rows[0]?.vector ?? new Float32Array();
    return { search: (search) => (asked) => search(isHurt(asked.text) ? { ...asked, vector: constant } : asked) };
  },
};
