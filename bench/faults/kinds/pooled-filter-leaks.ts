import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'pooled-filter-leaks',
  title: 'a pooled connection keeps the tenant of the previous call, whose documents alone are searched',
  causes: ['filter', 'forbidden_documents'],
  begin({ size, random }) {
    const share = around(random, bySize(size, 0.07, 0.22, 0.6));
    let previous: string | undefined;
    return {
      search: (search) => (asked) => {
        const leaked = previous;
        previous = asked.segments['topic'];
        if (leaked === undefined || random.uniform() >= share) return search(asked);
        return search({ ...asked, allows: ({ topic }) => topic === leaked });
      },
    };
  },
};
