/** A question with its tags: how it is cleaned, and when two are the same. */

import { malformed, type SourcePlace } from '../../text/source-line.ts';
import type { QueryDraft } from './golden-set-file.ts';
import { goldenLimits, idProblem, tagKeyProblem, tagValueProblem, textProblem } from './limits.ts';

export interface Question {
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * Removes white space around id, text and tags, drops tags without a value, and checks what is left. `onTrim` is
 * called for each value that was cut.
 * @throws RecalldError `file_malformed` for what is empty, too long or not storable.
 */
export function cleanQuery(
  draft: QueryDraft,
  place: SourcePlace,
  onTrim: () => void,
): Question & Pick<QueryDraft, 'id'> {
  const trim = (value: string): string => {
    const trimmed = value.trim();
    if (trimmed !== value) onTrim();
    return trimmed;
  };
  const require = (problem: string | null): void => {
    if (problem !== null) throw malformed(place, problem);
  };
  const id = draft.id === null ? null : trim(draft.id);
  if (id !== null) require(idProblem('query id', id));
  const text = trim(draft.text);
  require(textProblem(text));
  const tags = new Map<string, string>();
  for (const [name, content] of Object.entries(draft.tags)) {
    const key = trim(name);
    const value = trim(content);
    require(tagKeyProblem(key));
    if (value === '') continue;
    require(tagValueProblem(key, value));
    if (tags.has(key)) throw malformed(place, `has the tag ${key} twice; keep one`);
    tags.set(key, value);
  }
  if (tags.size > goldenLimits.tags) {
    throw malformed(place, `has ${tags.size} tags; use at most ${goldenLimits.tags}`);
  }
  return { id, text, tags: Object.fromEntries(tags) };
}

/** Text that is equal exactly for equal questions; the order of the tags does not count. */
export function questionKey(question: Question): string {
  const tags = Object.entries(question.tags).toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)));
  return JSON.stringify([question.text, tags]);
}

/** Whether text and tags are equal. */
export function isSameQuestion(a: Question, b: Question): boolean {
  return a.text === b.text && questionKey(a) === questionKey(b);
}
