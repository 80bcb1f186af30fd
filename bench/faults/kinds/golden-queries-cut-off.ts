import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'golden-queries-cut-off',
  title: 'an import cuts off the query texts of the golden set at the limit of a column, with the same judgments',
  causes: ['golden_labels'],
  // Almost every beginning of a LIMIT query is the same.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  lateRuns: 2,
  begin({ size, random }) {
    const most = Math.round(around(random, bySize(size, 48, 32, 20)));
    return { golden: (lines) => lines.map((line) => ({ ...line, text: line.text.slice(0, most).trimEnd() })) };
  },
};
