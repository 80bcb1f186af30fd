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
const judge = createStandInJudge(questions, answers, known);
const sample = questions.filter((_, index) => index % 4 === 0);

/**
 * Share of sampled queries for which the judge, given the daemon's prompt, assigns this grade to the document from
 * `documentFor`.
 */
const shareOf = (grade: number, documentFor: (answer: string) => string): number =>
  sample.filter(({ id, text }) => {
    const document = textOf.get(documentFor(answers.get(id) ?? '')) ?? 'The kitchen closes at nine.';
    const { messages } = gradeMessages(text, document);
    return readGrade(judge(messages.map(({ content }) => content).join('\n'))) === grade;
  }).length / sample.length;

const aNeighbour = (answer: string): string => answer.replace(/\d$/, (number) => (number === '1' ? '2' : '1'));

it('the stand-in judge follows known judgments, with a tenth of the grades too high and a twentieth too low, in every run', () => {
  const raised = shareOf(2, aNeighbour);
  expect(raised).toBeGreaterThan(0.06);
  expect(raised).toBeLessThan(0.14);
  expect(shareOf(2, aNeighbour)).toBe(raised);
  const lowered = shareOf(0, aNeighbour);
  expect(lowered).toBeGreaterThan(0.02);
  expect(lowered).toBeLessThan(0.09);
  expect(shareOf(1, aNeighbour)).toBeCloseTo(1 - raised - lowered, 10);
});

it('the stand-in judge keeps grades between 0 and 3', () => {
  const correct = shareOf(3, (answer) => answer);
  expect(correct).toBeGreaterThan(0.9);
  expect(shareOf(2, (answer) => answer)).toBeCloseTo(1 - correct, 10);
  const unknown = shareOf(0, () => 'nowhere');
  expect(unknown).toBeGreaterThan(0.85);
  expect(shareOf(1, () => 'nowhere')).toBeCloseTo(1 - unknown, 10);
});

it('the stand-in judge grades half of an answering passage as a partial answer', () => {
  expect(shareOf(2, (answer) => `${answer}-1`)).toBeGreaterThan(0.8);
});
