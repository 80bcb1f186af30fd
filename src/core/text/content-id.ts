/** The id of a document that has none: the same wherever its text is met. Told in docs/explanation/concepts.md. */
import { createHash } from 'node:crypto';

/**
 * `sha256:` and the first 32 hexadecimal digits of the SHA-256 of the text in UTF-8, after NFC, with one space for each
 * run of white space (Unicode's White_Space) and none at the ends; half of a surrogate pair counts as U+FFFD.
 *
 * @returns null for a text of white space alone, which tells no document from another
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
 * The id of a document of which nothing is known but its rank, from 0, in the answer to a live query. It is another one in
 * each answer, so that no two of them pass for the same document, and it is never judged.
 */
export function placeholderId(queryId: string, rank: number): string {
  return `${PLACEHOLDER}${queryId}#${rank + 1}`;
}

/** Whether an id is one of `placeholderId`. */
export function isPlaceholderId(id: string): boolean {
  return id.startsWith(PLACEHOLDER);
}
