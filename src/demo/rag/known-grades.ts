/** What the judgments of the demo's data come to on the scale of judges. */

const ANSWERS = 3;
const ANSWERS_IN_PART = 2;
const ON_THE_SUBJECT = 1;
const HAS_NOTHING_TO_DO = 0;

/** @returns 3 for the document that answers the question, 2 for a half of it, 1 for another one of its article, 0 for the rest */
export function knownGrade(document: string, answer: string): number {
  if (document === answer) return ANSWERS;
  if (document.startsWith(`${answer}-`)) return ANSWERS_IN_PART;
  return articleOf(document) === articleOf(answer) ? ON_THE_SUBJECT : HAS_NOTHING_TO_DO;
}

function articleOf(id: string): string {
  return id.split('/')[0] ?? '';
}
