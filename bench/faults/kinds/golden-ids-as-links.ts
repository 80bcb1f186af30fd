import { around, bySize, type FaultKind, some } from '../fault.ts';

const SITE = 'https://docs.example.com/';

export const kind: FaultKind = {
  name: 'golden-ids-as-links',
  title: 'a new version of the golden set has the links of documents, which the store does not know, for their ids',
  causes: ['golden_labels', 'ids_renamed'],
  lateRuns: 2,
  begin({ size, random }) {
    // Some annotators paste the address of a page into the labelling tool, and an export does so for all lines.
    const share = Math.min(1, around(random, bySize(size, 0.08, 0.35, 1.3)));
    return {
      golden(lines) {
        const linked = new Set(some(lines, share, random));
        return lines.map((line) =>
          linked.has(line) ? { ...line, relevant: line.relevant.map((id) => `${SITE}${encodeURI(id)}`) } : line,
        );
      },
    };
  },
};
