/** What the judgments of the demo's data come to on the scale of judges. */

const ANSWERS = 3;
const ON_THE_SUBJECT = 1;
const HAS_NOTHING_TO_DO = 0;

/** @returns 3 for the document that answers the question, 1 for another one of the same article, 0 for the rest */
export function knownGrade(document: string, answer: string): number {
  if (document === answer) return ANSWERS;
  return articleOf(document) === articleOf(answer) ? ON_THE_SUBJECT : HAS_NOTHING_TO_DO;
}

function articleOf(id: string): string {
  return id.split('/')[0] ?? '';
}
