import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'long-queries-hurt',
  title: 'only the first words of long queries reach the search',
  causes: ['one_kind_of_query'],
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size }) {
    const most = bySize(size, 9, 6, 4);
    return {
      search: (search) => (asked) => {
        const words = asked.text.split(' ');
        return words.length <= most ? search(asked) : search({ ...asked, text: words.slice(0, 3).join(' ') });
      },
    };
  },
};
