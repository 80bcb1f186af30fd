import { around, bySize, type FaultKind } from '../fault.ts';

/** Returns the share of the ids that are overwritten if ids are cut to `length` characters. */
function overwritten(ids: readonly string[], length: number): number {
  return 1 - new Set(ids.map((id) => id.slice(0, length))).size / ids.length;
}

export const kind: FaultKind = {
  name: 'ids-sanitised-alike',
  title: 'ids are cut to the length that the store allows, and documents with the same id overwrite each other',
  causes: ['index_lost_documents', 'ids_renamed'],
  // In LIMIT, a limit that makes two ids alike cuts all ids.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.05, 0.18, 0.5));
    const ids = material.rows.map(({ id }) => id);
    let length = Math.max(...ids.map((id) => id.length));
    while (length > 1 && overwritten(ids, length) < share) length--;
    return {
      // The last document written under an id wins. Long ids without a double are cut too; short ids stay the same.
      rows: (rows) => {
        const stored = rows.map((row) => ({ ...row, id: row.id.slice(0, length) }));
        return [...new Map(stored.map((row) => [row.id, row])).values()];
      },
    };
  },
};
