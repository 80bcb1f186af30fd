import { around, bySize, type FaultKind, some } from '../fault.ts';
import { type Asked, createSearch, type Hit } from '../search.ts';

/** Number of candidates of the reranker. */
const CANDIDATES = 40;
/** Weight of the lexical score in the reranker. */
const LEXICAL_WEIGHT = 0.5;

function sorted(hits: readonly Hit[]): Hit[] {
  return hits.toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

export const kind: FaultKind = {
  name: 'small-shards-score-low',
  title: 'documents of small shards rank too low, because each shard scores with its own word statistics',
  causes: ['ranking'],
  // Cosines need no statistics. In LIMIT, only relevant documents contain the rare word of a query.
  fits: ({ shape }) => shape.retriever !== 'dense' && shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const { shape, rows, embed } = material;
    // These sources get a shard each. One large shard contains the rest.
    const sources = [...new Set(rows.map(({ source }) => source))];
    const small = new Set(some(sources, around(random, bySize(size, 0.2, 0.45, 0.7)), random));
    const shards = [
      rows.filter(({ source }) => !small.has(source)),
      ...[...small].map((own) => rows.filter(({ source }) => source === own)),
    ];
    const searches = shards.map((shard) => createSearch({ ...shape, retriever: 'lexical' }, shard, embed));
    const lexical = (asked: Asked): Hit[] => searches.flatMap((one) => [...one({ ...asked, k: rows.length })]);
    return {
      search: (search) => (asked) => {
        const merged = lexical(asked);
        if (shape.retriever === 'lexical') return sorted(merged).slice(0, asked.k);
        const scores = new Map(merged.map(({ id, score }) => [id, score]));
        const most = Math.max(1, ...scores.values());
        const candidates = search({ ...asked, k: CANDIDATES, reranked: 0 }).map((hit) => {
          const part = (scores.get(hit.id) ?? 0) / most;
          return { ...hit, score: (1 - LEXICAL_WEIGHT) * hit.score + LEXICAL_WEIGHT * part };
        });
        return sorted(candidates).slice(0, asked.k);
      },
    };
  },
};
