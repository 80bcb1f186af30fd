import { around, bySize, type FaultKind, some } from '../fault.ts';
import { wordsOf } from '../search.ts';

/** Minimum share of the queries that must contain a word for the word to count as common. */
const COMMON = 0.02;

export const kind: FaultKind = {
  name: 'best-bets-match-too-much',
  title: 'results that editors pinned for a phrase come first for each query that has one common word of it',
  causes: ['ranking', 'one_kind_of_query'],
  // Each query of LIMIT differs from the others in only one word, which no other query contains.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const share = Math.min(0.95, around(random, bySize(size, 0.2, 0.45, 0.85)));
    const pinned = bySize(size, 1, 2, 5);
    const queries = [...material.golden, ...material.live].map(({ text }) => new Set(wordsOf(text)));
    const words = [...new Set(queries.flatMap((query) => [...query]))];
    const countOf = (word: string): number => queries.filter((query) => query.has(word)).length;
    const common = words.filter((word) => countOf(word) >= COMMON * queries.length);
    const matched = new Set<ReadonlySet<string>>();
    const bets = new Map<string, readonly { readonly id: string; readonly text: string }[]>();
    for (const word of some(common, 1, random)) {
      const also = queries.filter((query) => query.has(word) && !matched.has(query));
      if (matched.size + also.length > share * queries.length) continue;
      for (const query of also) matched.add(query);
      bets.set(word, some(material.rows, pinned / material.rows.length, random));
    }
    return {
      search: (search) => (asked) => {
        const word = wordsOf(asked.text).find((one) => bets.has(one));
        const hits = search(asked);
        const first = bets.get(word ?? '') ?? [];
        const ids = new Set(first.map(({ id }) => id));
        const most = 1 + (hits[0]?.score ?? 0);
        const pins = first.map(({ id, text }) => ({ id, text, score: most }));
        return [...pins, ...hits.filter(({ id }) => !ids.has(id))].slice(0, asked.k);
      },
    };
  },
};
