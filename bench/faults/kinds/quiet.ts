import { type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'quiet',
  title: 'nothing happens',
  causes: [],
  lateRuns: 9,
  begin() {
    return {};
  },
};
