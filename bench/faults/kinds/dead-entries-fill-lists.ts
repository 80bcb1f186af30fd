import { hashText } from '../../../src/demo/rag/hashed-tfidf.ts';
import { around, bySize, type FaultKind, some } from '../fault.ts';

/** Number of entries that one scan of the vector index visits, whether they are dead or not. */
const SCANNED = 40;
/** Mean number of dead entries of a document that a job rewrites repeatedly. */
const DEAD = 110;

export const kind: FaultKind = {
  name: 'dead-entries-fill-lists',
  title: 'dead entries of rewritten documents fill the scan of a vector index that is never vacuumed',
  causes: ['index_parameters', 'cut_off_answers'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random, material }) {
    // A reranker also needs the candidates far down the scan.
    const isReranked = material.shape.retriever === 'dense-rerank';
    const share = isReranked ? bySize(size, 0.03, 0.09, 0.4) : bySize(size, 0.07, 0.19, 0.55);
    const rewritten = some(material.rows, around(random, share), random);
    const dead = new Map(rewritten.map(({ id }) => [id, Math.round(around(random, DEAD))]));
    const seed = random.below(1e9);
    return {
      search: (search) => (asked) => {
        const alive = new Set<string>();
        let visited = 0;
        for (const { id } of search({ ...asked, k: SCANNED, reranked: 0 })) {
          // The entries of a document are nearly equal, so the live entry is at a random position among them.
          const entries = 1 + (dead.get(id) ?? 0);
          const place = visited + (entries * hashText(`${id} ${asked.text}`, seed)) / 2 ** 32;
          if (place < SCANNED) alive.add(id);
          visited += entries;
        }
        return search({ ...asked, allows: ({ id }) => alive.has(id) });
      },
    };
  },
};
