import { around, bySize, type FaultKind, type LiveAsk } from '../fault.ts';
import { createSearch } from '../search.ts';
import { prefixOf } from '../texts.ts';
import { blend } from '../vectors.ts';

/** An invented answer is like one of the chunks between these ranks, which are related to the query. */
const NEAR = 3;
const FAR = 40;
/** Share of a chunk's words in an invented answer. */
const LENGTH = 0.25;

export const kind: FaultKind = {
  name: 'invented-answers-searched',
  title: 'the agent lets a model invent an answer to each live query and searches for this answer',
  causes: ['query_rewriting', 'live_traffic'],
  begin({ size, random, material }) {
    const { shape, rows, embed } = material;
    const share = around(random, bySize(size, 0.2, 0.45, 0.8));
    /** The query is still a part of the text, or is replaced by the answer. */
    const isReplaced = bySize(size, false, false, true);
    const search = createSearch({ ...shape, retriever: 'dense' }, rows, embed);
    const invented = new Map<string, string>();
    const vectors = new Map<string, Float32Array>();
    // A model that does not know the corpus writes a fluent text about a similar subject, and always the same text.
    const inventedFor = ({ query, text }: LiveAsk): string => {
      const known = invented.get(text);
      if (known !== undefined) return known;
      const related = search({ text, k: Math.min(FAR, rows.length), segments: {}, origin: 'live' });
      const wrong = related.slice(Math.min(NEAR, related.length / 2)).filter(({ id }) => !query.relevant.includes(id));
      const answer = prefixOf(wrong[random.below(wrong.length)]?.text ?? text, LENGTH);
      invented.set(text, answer);
      return answer;
    };
    return {
      traffic: (draw) => () => {
        const ask = draw();
        if (random.uniform() >= share) return ask;
        const answer = inventedFor(ask);
        if (isReplaced) return { ...ask, text: answer };
        const text = `${ask.text}\n${answer}`;
        vectors.set(text, blend(embed(ask.text), embed(answer), answer.length / text.length));
        return { ...ask, text };
      },
      embed: (healthy) => (text) => vectors.get(text) ?? healthy(text),
    };
  },
};
