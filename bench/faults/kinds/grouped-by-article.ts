import { bySize, type FaultKind } from '../fault.ts';
import { type Hit } from '../search.ts';

/** Number of results that are grouped, as a multiple of the number of results asked for. */
const DEPTH = 10;

export const kind: FaultKind = {
  name: 'grouped-by-article',
  title: 'results are grouped, so that an answer has only one chunk of each article',
  causes: ['filter', 'ranking'],
  // The documents of LIMIT are no chunks of articles.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, material }) {
    /** A group shows the chunk that comes first in the article, of its chunks among this number of best results. */
    const window = bySize(size, 1, 3, 10);
    const sources = new Map(material.rows.map(({ id, source }) => [id, source]));
    const places = new Map(material.rows.map(({ id }, at) => [id, at]));
    const placeOf = ({ id }: Hit): number => places.get(id) ?? Number.POSITIVE_INFINITY;
    return {
      search: (search) => (asked) => {
        const groups = new Map<string, Hit>();
        for (const [rank, hit] of search({ ...asked, k: DEPTH * asked.k }).entries()) {
          const source = sources.get(hit.id) ?? hit.id;
          const shown = groups.get(source);
          if (shown === undefined) groups.set(source, hit);
          else if (rank < window && placeOf(hit) < placeOf(shown)) groups.set(source, { ...hit, score: shown.score });
        }
        return [...groups.values()].slice(0, asked.k);
      },
    };
  },
};
