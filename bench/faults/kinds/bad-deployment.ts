import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'bad-deployment',
  title: 'a new release of the service ranks worse',
  causes: ['deployment', 'ranking'],
  begin({ size, random }) {
    const depth = bySize(size, 3, 5, 10);
    return {
      deployments: [{ kind: 'retriever', version: `release-${random.below(1000)}` }],
      search: (search) => (asked) => {
        const hits = search(asked);
        return [...hits.slice(1, depth), ...hits.slice(0, 1), ...hits.slice(depth)];
      },
    };
  },
};
