import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'random-answers',
  title: 'answers do not depend on the query',
  causes: ['random_answers'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.25, 0.6, 1.3)));
    return {
      search: (search) => (asked) => {
        if (random.uniform() >= share) return search(asked);
        const start = random.uniform();
        return search({ ...asked, shift: start });
      },
    };
  },
};
