/** A stand-in for the LLM judge. The stand-in returns the judgments of the demo's data, with errors at a fixed rate. */
import { parseBoundedJson } from '../../core/text/json.ts';
import { uniformHash } from '../../live/rules/sampling/decision.ts';
import type { DemoDocument, DemoQuestion } from './corpus.ts';

export const JUDGE_MODEL = 'stand-in-judge';

/** Share of grades that are too high by one. */
const TOO_HIGH = 0.1;
/** Share of grades that are too low by one. */
const TOO_LOW = 0.05;
const MAX_GRADE = 3;

/**
 * Creates a judge that reads the question and the document from the last line of the prompt, and grades the document
 * with `knownGrade`. The grade of an unknown text is 0. Grading errors depend on a hash of both texts, so they are the
 * same in every run.
 *
 * @param answers id of the document that answers each question, keyed by question id
 * @returns a function that responds to a prompt with a grade, in the format of a model's structured output
 */
export function createStandInJudge(
  questions: readonly DemoQuestion[],
  answers: ReadonlyMap<string, string>,
  documents: readonly DemoDocument[],
) {
  const answerOf = new Map(questions.map(({ id, text }) => [text, answers.get(id) ?? '']));
  const idOf = new Map(documents.map(({ id, text }) => [text, id]));
  return (prompt: string): string => {
    const { question = '', document = '' } = textsOf(prompt);
    const [answer, id] = [answerOf.get(question), idOf.get(document)];
    const correct = answer === undefined || id === undefined ? 0 : knownGrade(id, answer);
    return JSON.stringify({ grade: Math.min(MAX_GRADE, Math.max(0, correct + errorOf(question, document))) });
  };
}

/** The last line of the prompt is a JSON object that contains the question and the document. */
function textsOf(prompt: string): { readonly question?: string; readonly document?: string } {
  try {
    return parseBoundedJson(prompt.slice(prompt.lastIndexOf('\n') + 1)) as { question?: string; document?: string };
  } catch {
    return {};
  }
}

function errorOf(question: string, document: string): -1 | 0 | 1 {
  const draw = uniformHash(['recalld/demo/stand-in-judge', question, document]);
  if (draw < TOO_HIGH) return 1;
  return draw < TOO_HIGH + TOO_LOW ? -1 : 0;
}

/**
 * @returns 3 for the document with the answer, 2 for either half of that document, 1 for other documents from the same
 * article, 0 otherwise
 */
export function knownGrade(document: string, answer: string): number {
  if (document === answer) return 3;
  if (document.startsWith(`${answer}-`)) return 2;
  return articleOf(document) === articleOf(answer) ? 1 : 0;
}

function articleOf(id: string): string {
  return id.split('/')[0] ?? '';
}
