import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'traffic-level',
  title: 'there is more traffic than before, or less',
  causes: [],
  begin({ size }) {
    return { volume: bySize(size, 0.5, 1.6, 2.5) };
  },
};
