/**
 * What stands for the chat model that judges: it knows the judgments of the demo's data, and errs as often as it is
 * told.
 */

import { parseBoundedJson } from '../../core/text/json.ts';
import { uniformHash } from '../../live/rules/sampling/decision.ts';
import type { DemoDocument, DemoQuestion } from './corpus.ts';

export const JUDGE_MODEL = 'stand-in-judge';

/** Of its grades, one in ten is one too high, one in twenty one too low. */
const TOO_HIGH = 0.1;
const TOO_LOW = 0.05;
const MAX_GRADE = 3;

/** Answers the prompt of a judge with a grade, as a model with structured answers does. */
export type StandInJudge = (prompt: string) => string;

export interface StandInKnowledge {
  readonly questions: readonly DemoQuestion[];
  /** Which document each question has its answer in. */
  readonly answers: ReadonlyMap<string, string>;
  readonly documents: readonly DemoDocument[];
}

/**
 * Reads question and document from the last line of the prompt, and grades them by `knownGrade`; texts that it does not know get
 * 0. It errs on the same pairs in every run: a hash of the pair decides.
 */
export function createStandInJudge({ questions, answers, documents }: StandInKnowledge): StandInJudge {
  const answerOf = new Map(questions.map(({ id, text }) => [text, answers.get(id) ?? '']));
  const idOf = new Map(documents.map(({ id, text }) => [text, id]));
  return (prompt) => {
    const { question = '', document = '' } = textsOf(prompt);
    const [answer, id] = [answerOf.get(question), idOf.get(document)];
    const right = answer === undefined || id === undefined ? 0 : knownGrade(id, answer);
    return JSON.stringify({ grade: Math.min(MAX_GRADE, Math.max(0, right + errorOf(question, document))) });
  };
}

/** The prompt ends with its texts as one JSON object, in a line of its own. */
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
