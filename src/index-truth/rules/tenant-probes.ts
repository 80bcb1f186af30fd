/** Questions asked as one segment in the words of another's documents, which must not come back. */
import type { GoldenQuery } from '../../model.ts';

/** Characters of a question; a longer one is none. */
const QUESTION_CHARACTERS = 300;

/** The start of the first text, as a user would ask who has it before him; null where none says anything. */
export function questionOf(contents: readonly (string | null)[]): string | null {
  const text = contents.find((content) => content !== null && content.trim() !== '');
  return text?.trim().slice(0, QUESTION_CHARACTERS).trim() ?? null;
}

/**
 * What all ids of a segment begin with, up to the last sign that is neither letter nor digit, so that ids to come begin so
 * too: `tenant-b/` of `tenant-b/10` to `tenant-b/17`. Null where there is no such beginning.
 *
 * @param first the least of the ids, by their bytes
 * @param last the greatest: what the two share, all do
 */
export function sharedBeginning(first: string, last: string): string | null {
  let length = 0;
  while (length < first.length && first[length] === last[length]) length += 1;
  return /^.*[^\p{L}\p{N}\p{M}\p{Cs}*\s]/su.exec(first.slice(0, length))?.[0] ?? null;
}

/**
 * @param segment it is asked as, written `key=value`, which become its tags
 * @param forbidden ids, or a beginning with `*`, of the segment whose words it has
 */
export function tenantProbe(
  id: string,
  text: string,
  segment: string,
  forbidden: readonly string[],
): GoldenQuery & { readonly forbidden: readonly string[] } {
  return { id, text, tags: segmentTags(segment), judgments: [], forbidden };
}

/** A segment of the manifest as the tags of a query. */
export function segmentTags(segment: string | null): Readonly<Record<string, string>> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(segment ?? '') ?? [];
  return key === undefined || value === undefined ? {} : { [key]: value };
}
