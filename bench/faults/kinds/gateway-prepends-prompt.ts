import { around, bySize, type FaultKind } from '../fault.ts';
import { wordsOf } from '../search.ts';
import { blend } from '../vectors.ts';

const PROMPT =
  'You are a careful assistant of the company. Follow the rules for the use of private data and answer in a few words.';

export const kind: FaultKind = {
  name: 'gateway-prepends-prompt',
  title: 'the gateway puts a system prompt in front of every text that it sends to the embedding model',
  causes: ['embedding_model', 'random_answers'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    // On English texts, the reranker compensates for a short prompt.
    const { retriever, corpus } = material.shape;
    const isCorrected = retriever === 'dense-rerank' && corpus === 'xquad-en';
    const length = around(random, isCorrected ? bySize(size, 10, 14, 28) : bySize(size, 3.8, 6, 10));
    return {
      // The encoders average over words, so the prompt has more weight in short texts.
      embed: (embed) => (text) => blend(embed(text), embed(PROMPT), length / (length + wordsOf(text).length)),
    };
  },
};
