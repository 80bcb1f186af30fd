import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'query-cut-off',
  title: 'queries are cut off after a number of characters before the search',
  causes: ['one_kind_of_query', 'random_answers'],
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random }) {
    const most = Math.round(around(random, bySize(size, 48, 32, 16)));
    return {
      search: (search) => (asked) =>
        asked.text.length <= most ? search(asked) : search({ ...asked, text: asked.text.slice(0, most) }),
    };
  },
};
