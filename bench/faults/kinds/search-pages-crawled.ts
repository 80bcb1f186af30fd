import { around, bySize, type FaultKind, some } from '../fault.ts';
import type { Row } from '../shape.ts';

const HEADING = 'Search results for: ';

export const kind: FaultKind = {
  name: 'search-pages-crawled',
  title: 'the crawler indexes the result pages of the site search, which repeat the queries of users',
  causes: ['unknown'],
  // In a store of 46 documents, a few crawled pages would displace all documents from the results.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const pages = bySize(size, 1, 2, 3);
    const share = around(random, bySize(size, 0.05, 0.1, 0.28));
    const crawled = [...some(material.golden, share, random), ...some(material.live, share, random)];
    const language = material.rows[0]?.language ?? 'en';
    const added = crawled.flatMap(({ id, text, topic }): Row[] =>
      Array.from({ length: pages }, (_, at) => ({
        id: `search-${id}-page-${at + 1}`,
        source: 'site-search',
        language,
        topic,
        text: `${HEADING}${text} | page ${at + 1}`,
        version: 'v1',
        vector: material.embed(text),
      })),
    );
    return {
      rows: (rows) => [...rows, ...added],
      // A page and its start have the vector of its query, because the page contains little else.
      embed: (embed) => (text) => {
        const start = text.trim();
        const page = text.startsWith(HEADING) ? added.find((row) => row.text.startsWith(start)) : undefined;
        return page?.vector ?? embed(text);
      },
    };
  },
};
