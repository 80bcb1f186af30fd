import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'bad-label-import',
  title: 'a new version of the golden set has wrong judgments',
  causes: ['golden_labels'],
  lateRuns: 2,
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.1, 0.25, 0.6));
    return {
      golden(lines) {
        const wrong = new Set(some(lines, share, random));
        return lines.map((line) => {
          const row = material.rows[random.below(material.rows.length)];
          return wrong.has(line) && row !== undefined ? { ...line, relevant: [row.id] } : line;
        });
      },
    };
  },
};
