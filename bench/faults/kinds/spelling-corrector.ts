import { groupBy } from '../../../src/core/group-by.ts';
import { editDistance } from '../../../src/core/text/spelling.ts';
import { bySize, type FaultKind } from '../fault.ts';
import { wordsOf } from '../search.ts';
import { blend } from '../vectors.ts';

const SHORTEST = 4;

export const kind: FaultKind = {
  name: 'spelling-corrector',
  title: 'a spelling corrector replaces rare words of queries by common words',
  causes: ['one_kind_of_query', 'query_rewriting'],
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, material }) {
    const edits = bySize(size, 3, 4, 5);
    /** The corrector's dictionary contains only words that occur in at least this many chunks. */
    const common = bySize(size, 5, 5, 8);
    const counts = new Map<string, number>();
    for (const { text } of material.rows)
      for (const word of new Set(wordsOf(text))) counts.set(word, (counts.get(word) ?? 0) + 1);
    const dictionary = [...counts].flatMap(([word, count]) => (count >= common ? [word] : []));
    const known = new Set(dictionary);
    const byLetter = groupBy(dictionary, (word) => word.at(0));
    const corrections = new Map<string, string>();
    const corrected = (word: string): string => {
      if (word.length < SHORTEST || known.has(word) || /\d/.test(word)) return word;
      const nearest = (byLetter.get(word.at(0)) ?? [])
        .map((other) => ({ other, distance: editDistance(word, other) }))
        .reduce((best, one) => (one.distance < best.distance ? one : best), { other: word, distance: edits + 1 });
      return nearest.other;
    };
    const correction = (word: string): string => {
      const other = corrections.get(word) ?? corrected(word);
      corrections.set(word, other);
      return other;
    };
    return {
      search: (search) => (asked) => {
        const before = wordsOf(asked.text);
        const after = before.map(correction);
        const wrong = after.filter((word, at) => word !== before[at]);
        if (wrong.length === 0) return search(asked);
        const share = wrong.length / before.filter((word) => word.length >= SHORTEST).length;
        const vector = blend(material.embed(asked.text), material.embed(wrong.join(' ')), share);
        return search({ ...asked, text: after.join(' '), vector });
      },
    };
  },
};
