import { expect, it } from 'vitest';
import { readDemoAnswers, readDemoDocuments, readDemoQuestions } from '../../../src/demo/rag/corpus.ts';
import { cutInTwo } from '../../../src/demo/rag/fault.ts';
import { createStandInJudge } from '../../../src/demo/rag/stand-in-judge.ts';
import { gradeMessages, readGrade } from '../../../src/judging/rules/judge-prompt.ts';

const [documents, questions, answers] = await Promise.all([
  readDemoDocuments(),
  readDemoQuestions(),
  readDemoAnswers(),
]);
const known = [...documents, ...documents.flatMap(cutInTwo)];
const textOf = new Map(known.map(({ id, text }) => [id, text]));
const judge = createStandInJudge({ questions, answers, documents: known });
const asked = questions.filter((_, index) => index % 4 === 0);

/** Share of the questions whose document gets that grade, asked with the prompt of the daemon. */
const shareOf = (grade: number, documentFor: (answer: string) => string): number =>
  asked.filter(({ id, text }) => {
    const document = textOf.get(documentFor(answers.get(id) ?? '')) ?? 'The kitchen closes at nine.';
    const { messages } = gradeMessages(text, document);
    return readGrade(judge(messages.map(({ content }) => content).join('\n'))) === grade;
  }).length / asked.length;

const aNeighbour = (answer: string): string => answer.replace(/\d$/, (number) => (number === '1' ? '2' : '1'));

it('grades by the known judgments, one in ten a grade too high and one in twenty too low, alike each time', () => {
  const raised = shareOf(2, aNeighbour);
  expect(raised).toBeGreaterThan(0.06);
  expect(raised).toBeLessThan(0.14);
  expect(shareOf(2, aNeighbour)).toBe(raised);
  const lowered = shareOf(0, aNeighbour);
  expect(lowered).toBeGreaterThan(0.02);
  expect(lowered).toBeLessThan(0.09);
  expect(shareOf(1, aNeighbour)).toBeCloseTo(1 - raised - lowered, 10);
});

it('has no grade above that of an answer, nor below that of what has nothing to do with it', () => {
  const right = shareOf(3, (answer) => answer);
  expect(right).toBeGreaterThan(0.9);
  expect(shareOf(2, (answer) => answer)).toBeCloseTo(1 - right, 10);
  const unknown = shareOf(0, () => 'nowhere');
  expect(unknown).toBeGreaterThan(0.85);
  expect(shareOf(1, () => 'nowhere')).toBeCloseTo(1 - unknown, 10);
});

it('grades a half of the passage that answers as a part of the answer', () => {
  expect(shareOf(2, (answer) => `${answer}-1`)).toBeGreaterThan(0.8);
});
