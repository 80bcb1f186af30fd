import { around, bySize, type FaultKind, some } from '../fault.ts';
import { createSearch } from '../search.ts';

/** Number of results of each system in the pool for the annotators. */
const DEPTH = 40;

export const kind: FaultKind = {
  name: 'golden-grades-ignored',
  title: 'a golden import ignores grades, so that documents judged doubtful or not relevant count as relevant',
  causes: ['golden_labels'],
  // In LIMIT, the dense search returns documents that are not relevant, so the wrong judgments raise the score.
  fits: ({ shape }) => !(shape.retriever === 'dense' && shape.corpus === 'limit-small'),
  lateRuns: 2,
  begin({ size, random, material }) {
    const { shape, rows, embed } = material;
    // The import drops only the doubtful grades of some files, or the column with the grades of all files.
    const share = Math.min(1, around(random, bySize(size, 0.3, 0.6, 1.3)));
    const judgedShare = bySize(size, 0.05, 0.12, 0.3);
    // As usual, annotators judged a sample of the results of several systems, most of which are not relevant.
    const systems = (['lexical', 'dense'] as const).map((retriever) =>
      createSearch({ ...shape, retriever }, rows, embed),
    );
    return {
      golden(lines) {
        const hurt = new Set(some(lines, share, random));
        return lines.map((line) => {
          if (!hurt.has(line)) return line;
          const asked = { text: line.text, k: DEPTH, segments: {}, origin: 'golden' } as const;
          const pool = new Set(systems.flatMap((search) => search(asked).map(({ id }) => id)));
          const others = [...pool].filter((id) => !line.relevant.includes(id));
          return { ...line, relevant: [...line.relevant, ...some(others, judgedShare, random)] };
        });
      },
    };
  },
};
