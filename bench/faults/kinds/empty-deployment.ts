import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'empty-deployment',
  title: 'a deployment that changes nothing',
  causes: [],
  begin({ size, random }) {
    const kind = bySize(size, 'retriever', 'index', 'embedder');
    return { deployments: [{ kind, version: `release-${random.below(1000)}` }] };
  },
};
