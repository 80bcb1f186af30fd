import { around, bySize, type FaultKind } from '../fault.ts';
import { wordsOf } from '../search.ts';

/** The search ignores stop words, which are the words in more than this share of all queries. */
const STOP_WORD = 0.02;

export const kind: FaultKind = {
  name: 'all-words-required',
  title: 'instances of the search begin to require every word of a query in a document',
  causes: ['empty_lists', 'filter'],
  // The only word of a LIMIT query that is not a stop word is in its relevant documents.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    // A part of the instances already has the new default operator.
    const share = Math.min(1, around(random, bySize(size, 0.15, 0.45, 1.3)));
    const queries = [...material.golden, ...material.live];
    const counts = new Map<string, number>();
    for (const { text } of queries)
      for (const word of new Set(wordsOf(text))) counts.set(word, (counts.get(word) ?? 0) + 1);
    const isStopWord = (word: string): boolean => (counts.get(word) ?? 0) > STOP_WORD * queries.length;
    const known = new Map<string, ReadonlySet<string>>();
    const wordsIn = (text: string): ReadonlySet<string> => {
      const words = known.get(text) ?? new Set(wordsOf(text));
      known.set(text, words);
      return words;
    };
    return {
      search: (search) => (asked) => {
        if (random.uniform() >= share) return search(asked);
        const required = wordsOf(asked.text).filter((word) => !isStopWord(word));
        return search({
          ...asked,
          allows: (row) => required.every((word) => wordsIn(row.text).has(word)) && (asked.allows?.(row) ?? true),
        });
      },
    };
  },
};
