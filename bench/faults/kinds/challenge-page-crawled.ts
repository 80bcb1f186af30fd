import { around, bySize, type FaultKind, some } from '../fault.ts';
import { foreign } from '../foreign-vectors.ts';

const HEADING = 'Just a moment...';
const PAGE = `${HEADING} Checking your browser. Enable JavaScript and cookies to continue. Ray ID:`;

export const kind: FaultKind = {
  name: 'challenge-page-crawled',
  title: 'the crawler stored the text of a bot-challenge page in place of some documents',
  causes: ['damaged_texts', 'index_lost_documents'],
  begin({ size, random, material }) {
    const hurt = some(material.rows, around(random, bySize(size, 0.08, 0.18, 0.45)), random);
    // Each challenge has its own ray, so a comparison of hashes does not find the copies.
    const pages = new Map(hurt.map(({ id }) => [id, `${PAGE} ${random.below(2 ** 32).toString(16)}`]));
    // The encoders did not record the page, and its approximation would be close to some documents.
    const vector = foreign(material.embed(PAGE), 1);
    return {
      // The versions stay the same, because the crawler takes them from the sitemap; the page is sent with status 200.
      rows: (rows) =>
        rows.map((row) => {
          const text = pages.get(row.id);
          return text === undefined ? row : { ...row, text, vector };
        }),
      embed: (embed) => (text) => (text.startsWith(HEADING) ? vector : embed(text)),
    };
  },
};
