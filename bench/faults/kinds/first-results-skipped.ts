import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'first-results-skipped',
  title: 'pages are counted from the wrong number, so that lists begin after the best results',
  causes: ['unknown', 'ranking'],
  begin({ size, random }) {
    const offset = bySize(size, 1, 1, 10);
    // Share of the instances that run the new release.
    const share = bySize(size, 0.33, 0.66, 1);
    return {
      search: (search) => (asked) => {
        if (random.uniform() >= share) return search(asked);
        return search({ ...asked, k: asked.k + offset }).slice(offset);
      },
    };
  },
};
