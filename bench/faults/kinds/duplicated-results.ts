import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'duplicated-results',
  title: 'the service returns each result several times',
  causes: ['duplicate_results'],
  begin({ size }) {
    const times = bySize(size, 2, 4, 10);
    return {
      search: (search) => (asked) =>
        search(asked)
          .flatMap((hit) => Array.from({ length: times }, () => hit))
          .slice(0, asked.k),
    };
  },
};
