/** Outdated indexes, for faults in which the service still searches an index that was built earlier. */
import type { RandomNumbers } from '../random-numbers.ts';
import { some } from './fault.ts';
import type { Material, Row } from './shape.ts';
import { prefixOf } from './texts.ts';

/** Share of a document's words that its draft contains. */
const DRAFT = 0.1;

/**
 * Returns the rows of an index that was built before some documents were written or last changed. Half of these
 * documents are missing. For the other half, the index contains short drafts, whose ids no longer exist.
 *
 * @param share share of the documents that were written or changed after the index was built
 */
export function oldRows(material: Material, share: number, random: RandomNumbers): Row[] {
  const changed = some(material.rows, share, random);
  const drafted = new Set(changed.slice(0, Math.ceil(changed.length / 2)));
  const unwritten = new Set(changed.slice(drafted.size));
  return material.rows.flatMap((row) => {
    if (unwritten.has(row)) return [];
    if (!drafted.has(row)) return [row];
    const text = prefixOf(row.text, DRAFT);
    return [{ ...row, id: `${row.id}~draft`, text, version: 'v0', vector: material.embed(text) }];
  });
}
