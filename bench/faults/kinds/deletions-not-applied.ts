import { around, bySize, type FaultKind, some } from '../fault.ts';
import type { Row } from '../shape.ts';
import { halvesOf } from '../texts.ts';

const LABEL = '[2019]';

export const kind: FaultKind = {
  name: 'deletions-not-applied',
  title: 'documents that owners withdrew stay in the index, where the obsolete editions outrank their replacements',
  causes: ['index_behind', 'forbidden_documents', 'duplicate_results'],
  begin({ size, random, material }) {
    const share = Math.min(1, around(random, bySize(size, 0.14, 0.4, 1.1)));
    // Obsolete editions were split into shorter chunks; each covers fewer subjects, so it is closer to a query.
    const obsolete = some(material.rows, share, random).flatMap((row) =>
      halvesOf(row.text).map(
        (text, at): Row => ({
          ...row,
          id: `${row.id}~old.${at + 1}`,
          text: `${LABEL} ${text}`,
          version: 'v0',
          vector: material.embed(text),
        }),
      ),
    );
    return {
      // The editions are added and withdrawn at the onset, because the history of a world has no obsolete documents.
      rows: (rows) => [...rows, ...obsolete],
      manifest: (lines, now) => [
        ...lines,
        ...obsolete.map(({ id, version }) => ({ id, hash: version, updated_at: now.toISOString(), deleted: true })),
      ],
      embed: (embed) => (text) => {
        const start = text.trim();
        const edition = start.startsWith(LABEL) ? obsolete.find((row) => row.text.startsWith(start)) : undefined;
        return edition?.vector ?? embed(text);
      },
    };
  },
};
