import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'new-golden-version',
  title: 'the golden set gets a new version without some of its queries',
  causes: [],
  lateRuns: 1,
  begin({ size, random }) {
    const left = bySize(size, 0.95, 0.85, 0.7);
    return { golden: (lines) => some(lines, left, random) };
  },
};
