import { bySize, type FaultKind, someTexts } from '../fault.ts';

export const kind: FaultKind = {
  name: 'reranker-skipped',
  title: 'the reranker is skipped for some of the calls or all',
  causes: ['ranking'],
  fits: ({ shape }) => shape.retriever === 'dense-rerank',
  begin({ size, random }) {
    const isHurt = someTexts(random, bySize(size, 0.4, 0.7, 1));
    return { search: (search) => (asked) => search(isHurt(asked.text) ? { ...asked, reranked: 0 } : asked) };
  },
};
