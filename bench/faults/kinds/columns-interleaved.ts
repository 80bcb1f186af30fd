import { groupBy } from '../../../src/core/group-by.ts';
import { around, bySize, type FaultKind, some } from '../fault.ts';
import { foreign } from '../foreign-vectors.ts';
import type { Row } from '../shape.ts';
import { halvesOf } from '../texts.ts';
import { blend } from '../vectors.ts';

/** Number of words in a line of a column. */
const LINE = 6;
/** Weight of the broken sentences in the vector of a garbled chunk. */
const NOISE = 0.35;

function linesOf(text: string): string[] {
  const words = text.split(' ');
  return Array.from({ length: Math.ceil(words.length / LINE) }, (_, at) =>
    words.slice(at * LINE, (at + 1) * LINE).join(' '),
  );
}

function acrossColumns(left: string, right: string): string {
  const [lefts, rights] = [linesOf(left), linesOf(right)];
  const rows = Array.from({ length: Math.max(lefts.length, rights.length) }, (_, at) => [lefts[at], rights[at]]);
  return rows
    .flat()
    .filter((line) => line !== undefined)
    .join(' ');
}

export const kind: FaultKind = {
  name: 'columns-interleaved',
  title: 'a new PDF extractor reads across the two columns of a page, so that chunks mix the lines of both',
  causes: ['damaged_texts', 'corpus_changed'],
  begin({ size, random, material }) {
    const bySource = groupBy(material.rows, ({ language, source }) => `${language} ${source}`);
    // A page has one chunk per column; the last chunk of a source may be alone on its page.
    const pages = [...bySource.values()].flatMap((rows) =>
      rows.flatMap((left, at): [Row, Row][] => {
        const right = rows[at + 1];
        return at % 2 === 0 && right !== undefined ? [[left, right]] : [];
      }),
    );
    const hurt = some(pages, Math.min(1, around(random, bySize(size, 0.2, 0.55, 1.3))), random);
    const garbled = new Map(
      hurt.flatMap(([left, right]) => {
        const [lefts, rights] = [halvesOf(left.text), halvesOf(right.text)];
        // The extractor reads the page from top to bottom, so each chunk contains one half of each column.
        return [left, right].map(({ id }, at) => {
          const [one, other] = [lefts[at] ?? '', rights[at] ?? ''];
          const both = blend(material.embed(one), material.embed(other), other.length / (one.length + other.length));
          return [id, { text: acrossColumns(one, other), vector: blend(both, foreign(both, 1), NOISE) }] as const;
        });
      }),
    );
    const chunks = [...garbled.values()];
    return {
      rows: (rows) => rows.map((row) => ({ ...row, ...garbled.get(row.id) })),
      embed: (embed) => (text) => {
        const start = text.trim();
        return chunks.find((chunk) => chunk.text.startsWith(start))?.vector ?? embed(text);
      },
    };
  },
};
