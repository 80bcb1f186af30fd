import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'one-language-hurt',
  title: 'queries in one language get documents in the other alone',
  causes: ['one_segment', 'one_kind_of_query', 'filter'],
  fits: ({ rows }) => new Set(rows.map(({ language }) => language)).size > 1,
  begin({ size, random, material }) {
    const language = material.rows.at(-1)?.language;
    const share = bySize(size, 0.3, 0.6, 1);
    return {
      search: (search) => (asked) =>
        asked.segments['language'] === language && random.uniform() < share
          ? search({ ...asked, allows: (row) => row.language !== language })
          : search(asked),
    };
  },
};
