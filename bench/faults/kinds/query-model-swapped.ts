import { bySize, type FaultKind, someTexts } from '../fault.ts';
import { fitted } from '../foreign-vectors.ts';
import { readVectors } from '../vectors.ts';

export const kind: FaultKind = {
  name: 'query-model-swapped',
  title: 'queries are embedded by another encoder, cut or padded to the length of the index',
  causes: ['embedding_model'],
  fits: ({ shape }) => shape.retriever !== 'lexical' && ['xquad-en', 'limit-small'].includes(shape.corpus),
  begin({ size, random, material }) {
    const share = bySize(size, 0.3, 0.6, 1);
    const other = readVectors(material.shape.encoder === 'minilm' ? 'use-lite' : 'minilm');
    const isHurt = someTexts(random, share);
    return {
      embed: (embed) => (text) => {
        const own = embed(text);
        if (!isHurt(text)) return own;
        return fitted(() => other(text), own);
      },
    };
  },
};
