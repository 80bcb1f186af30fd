import { type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'golden-runs-not-started',
  title: 'the scheduler of recalld starts no golden runs',
  causes: ['recalld'],
  lateRuns: 2,
  begin() {
    return { daemon: { skipsGolden: true } };
  },
};
