import { around, bySize, type FaultKind, some } from '../fault.ts';
import { foreign } from '../foreign-vectors.ts';
import { blend } from '../vectors.ts';

/** Weight of the glued words in the vector of a chunk without any space. */
const NOISE = 0.85;

export const kind: FaultKind = {
  name: 'spaces-lost-in-chunks',
  title: 'the extractor takes narrow spaces for the gaps between letters and glues the words of some chunks together',
  causes: ['damaged_texts'],
  begin({ size, random, material }) {
    // Only documents with justified lines or tight letter spacing are affected.
    const hurt = some(material.rows, around(random, bySize(size, 0.15, 0.4, 0.75)), random);
    const lost = around(random, bySize(size, 0.5, 0.65, 0.8));
    const glued = new Map(
      hurt.map(({ id, text, vector }) => [
        id,
        {
          text: text.replaceAll(/(?<=\S) (?=\S)/g, (space) => (random.uniform() < lost ? '' : space)),
          // The tokenizer splits glued words into pieces that mean little.
          vector: blend(vector, foreign(vector, 1), NOISE * lost),
        },
      ]),
    );
    const chunks = [...glued.values()];
    return {
      rows: (rows) => rows.map((row) => ({ ...row, ...glued.get(row.id) })),
      // The beginning of a glued chunk is damaged like the whole chunk.
      embed: (embed) => (text) => {
        const start = text.trim();
        return chunks.find((chunk) => chunk.text.startsWith(start))?.vector ?? embed(text);
      },
    };
  },
};
