/** Ids for documents that have none, derived from their text. See docs/explanation/concepts.md. */
import { createHash } from 'node:crypto';

/**
 * Returns `sha256:` and the first 32 hexadecimal digits of the SHA-256 of the text in UTF-8. Before hashing, the text
 * is NFC-normalized and trimmed, and each sequence of white space (Unicode's White_Space) is replaced by one space. A
 * lone surrogate counts as U+FFFD.
 *
 * @returns null for a text with only white space, which identifies no document
 */
export function contentId(text: string): string | null {
  const plain = text
    .normalize('NFC')
    .replaceAll(/\p{White_Space}+/gu, ' ')
    .replaceAll(/^ | $/g, '');
  if (plain === '') return null;
  return `sha256:${createHash('sha256').update(plain, 'utf8').digest('hex').slice(0, 32)}`;
}

const PLACEHOLDER = 'unidentified:';

/**
 * Returns an id for a result that is known only by its zero-based rank. The id is unique to the response and never
 * judged.
 */
export function placeholderId(queryId: string, rank: number): string {
  return `${PLACEHOLDER}${queryId}#${rank + 1}`;
}

export function isPlaceholderId(id: string): boolean {
  return id.startsWith(PLACEHOLDER);
}

/** Returns true if recalld derived the id, which is then unrelated to the document's own id. */
export function isDerivedId(id: string): boolean {
  return isPlaceholderId(id) || /^sha256:[0-9a-f]{32}$/.test(id);
}
