import { around, bySize, type FaultKind, some } from '../fault.ts';

/** Forbidden words in English, German and Spanish, which are also letter sequences in harmless words. */
const FORBIDDEN = [
  'acid anal arm ass beat bomb crack cum dead die drug fat gas gun hang hash hell hit kill meth pot rap sex shoot shot',
  'sin stab tit war weed arsch kot mist mord sau tod tot coca culo ira mata mora pedo pis puta tonto',
].flatMap((words) => words.split(' '));

function contains(text: string, sequences: readonly string[]): boolean {
  const letters = text.toLowerCase();
  return sequences.some((sequence) => letters.includes(sequence));
}

export const kind: FaultKind = {
  name: 'safety-filter-within-words',
  title: 'a content filter empties the answers to queries with forbidden letter sequences, also within harmless words',
  causes: ['one_kind_of_query', 'empty_lists'],
  // The queries of LIMIT have few different words, so that a share of them is hard to hit.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const most = around(random, bySize(size, 0.08, 0.16, 0.32));
    const texts = [...material.golden, ...material.live].map(({ text }) => text);
    const chosen: string[] = [];
    // Leaves out sequences that would reject too many queries, such as "die" in German.
    for (const sequence of some(FORBIDDEN, 1, random)) {
      const rejected = texts.filter((text) => contains(text, [...chosen, sequence]));
      if (rejected.length <= most * texts.length) chosen.push(sequence);
    }
    return { search: (search) => (asked) => (contains(asked.text, chosen) ? [] : search(asked)) };
  },
};
