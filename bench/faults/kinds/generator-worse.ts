import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'generator-worse',
  title: 'users dislike answers although the same documents are found',
  causes: ['generator'],
  begin({ size, random }) {
    const factor = around(random, bySize(size, 0.6, 0.4, 0.2));
    return { opinion: (likes) => (found) => factor * likes(found) };
  },
};
