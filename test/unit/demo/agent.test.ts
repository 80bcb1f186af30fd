import { describe, expect, it } from 'vitest';
import { createDemoAgent } from '../../../src/demo/agent.ts';
import { createDemoTraffic, divideQuestions, NOTHING_MISSING } from '../../../src/demo/traffic.ts';
import { looksLikeAnswer } from '../../../src/live/rules/answer-like.ts';

const FROM = new Date('2026-03-02T00:00:00Z');
const questions = await divideQuestions();
/** Finds the answer for queries in the user's words, and nothing for keywords. */
const search = async (text: string) => ({
  results: text.endsWith('?') ? [{ id: answerTo(text), score: 0.5 }] : [],
  latencyMs: 3,
  error: null,
});
const answerTo = (text: string): string =>
  questions.live.flat().find((question) => question.text === text)?.document ?? 'none';

async function hoursOf(isBroken: boolean) {
  const agent = await createDemoAgent(search);
  const traffic = createDemoTraffic(questions, search, 0);
  agent.setBroken(isBroken);
  const turns = [];
  for (let hour = 0; hour < 6; hour++)
    turns.push(
      ...(await Promise.all(traffic.nextQuestions(FROM, NOTHING_MISSING).map((question) => agent.turn(question)))),
    );
  return turns.flatMap(({ question, retrievals }) =>
    retrievals.map(({ text }, step) => ({ text, step, originalText: question })),
  );
}

describe('the demo agent', () => {
  it('queries with keywords first, and then with the original text if needed', async () => {
    const steps = await hoursOf(false);
    for (const { text, step, originalText } of steps) {
      if (step === 1) expect(text).toBe(originalText);
      expect(looksLikeAnswer(text, originalText)).toBe(false);
    }
    expect(steps.some(({ step }) => step === 1)).toBe(true);
  });

  it('answers from memory in about two of five turns while its rewriter is broken', async () => {
    const first = (await hoursOf(true)).filter(({ step }) => step === 0);
    const answers = first.filter(({ text, originalText }) => looksLikeAnswer(text, originalText));
    expect(answers.length / first.length).toBeGreaterThan(0.25);
    expect(answers.length / first.length).toBeLessThan(0.55);
  });
});
