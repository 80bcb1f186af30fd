import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'thumbs-swapped',
  title: 'clients swap the two feedback buttons, and answers are as good as before',
  causes: ['unknown'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.45, 0.7, 1.3)));
    return { opinion: (likes) => (found) => (1 - share) * likes(found) + share * (1 - likes(found)) };
  },
};
