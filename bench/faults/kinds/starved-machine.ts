import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'starved-machine',
  title: 'the machine of recalld is short of processor time',
  causes: ['recalld'],
  begin({ size, random }) {
    return { daemon: { stallMs: around(random, bySize(size, 150, 350, 600)) } };
  },
};
