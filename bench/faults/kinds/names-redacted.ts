import { around, bySize, type FaultKind, someTexts } from '../fault.ts';
import { wordsOf } from '../search.ts';
import { blend } from '../vectors.ts';

const PLACEHOLDER = '[REDACTED]';
/** A capitalised word that is not the first word of the query, or a number. */
const NAME = /(?<=[\s("'«„“-])\p{Lu}[\p{L}\p{M}’'-]*|\p{N}+/gu;
/** Weight of the words that are left in the vector of a query. */
const LOSS = 0.75;

export const kind: FaultKind = {
  name: 'names-redacted',
  title: 'a privacy filter replaces names and numbers in queries by a placeholder',
  causes: ['one_kind_of_query', 'query_rewriting'],
  // Without its name, each query of LIMIT is the same query.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    // A strict filter recognises more words as names. In German, it also takes the other nouns for names.
    const isRecognised = someTexts(random, Math.min(1, around(random, bySize(size, 0.35, 0.7, 1.3))));
    return {
      search: (search) => (asked) => {
        const text = asked.text.replaceAll(NAME, (name) => (isRecognised(name) ? PLACEHOLDER : name));
        if (text === asked.text) return search(asked);
        const left = text.replaceAll(PLACEHOLDER, ' ').replaceAll(/\s+/g, ' ').trim();
        if (wordsOf(left).length === 0) return [];
        return search({ ...asked, text, vector: blend(material.embed(asked.text), material.embed(left), LOSS) });
      },
    };
  },
};
