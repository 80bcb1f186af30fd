import { bySize, type FaultKind } from '../fault.ts';
import { wordsOf } from '../search.ts';

export const kind: FaultKind = {
  name: 'query-ends-at-accent',
  title: 'instances with the wrong locale lose the rest of a query after a letter outside ASCII',
  causes: ['one_kind_of_query', 'one_segment'],
  fits: ({ rows }) => rows.some(({ language }) => language !== 'en'),
  begin({ size, random }) {
    const share = bySize(size, 0.5, 0.75, 1);
    return {
      search: (search) => (asked) => {
        const at = asked.text.search(/[^\p{ASCII}¿¡]/u);
        if (at === -1 || random.uniform() >= share) return search(asked);
        const text = asked.text.slice(0, at);
        return wordsOf(text).length === 0 ? [] : search({ ...asked, text });
      },
    };
  },
};
