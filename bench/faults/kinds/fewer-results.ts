import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'fewer-results',
  title: 'the service returns fewer results than it is asked for',
  causes: ['cut_off_answers'],
  begin({ size }) {
    const most = bySize(size, 5, 3, 1);
    return { search: (search) => (asked) => search(asked).slice(0, most) };
  },
};
