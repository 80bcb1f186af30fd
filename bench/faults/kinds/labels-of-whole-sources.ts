import { groupBy } from '../../../src/core/group-by.ts';
import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'labels-of-whole-sources',
  title: 'a new version of the golden set judges every chunk of an article relevant that has the answer in one chunk',
  causes: ['golden_labels'],
  fits: ({ rows }) => rows.length >= 3 * new Set(rows.map(({ source }) => source)).size,
  lateRuns: 2,
  begin({ size, random, material }) {
    const share = Math.min(1, around(random, bySize(size, 0.2, 0.5, 1.2)));
    const sources = new Map(material.rows.map(({ id, source }) => [id, source]));
    const bySource = groupBy(material.rows, ({ source }) => source);
    return {
      golden(lines) {
        const widened = new Set(some(lines, share, random));
        return lines.map((line) => {
          if (!widened.has(line)) return line;
          const chunks = line.relevant.flatMap((id) => bySource.get(sources.get(id) ?? '') ?? []);
          return { ...line, relevant: [...new Set([...line.relevant, ...chunks.map(({ id }) => id)])] };
        });
      },
    };
  },
};
