import { expect, it } from 'vitest';
import { readDemoAnswers } from '../../../src/demo/rag/corpus.ts';
import { type Gap, gapOf, missingPassages } from '../../../src/demo/rag/fault.ts';
import { createDemoTraffic, divideQuestions, NOTHING_MISSING, questionOf } from '../../../src/demo/traffic.ts';

const FROM = new Date('2026-03-02T00:00:00Z');
const search = async (text: string) => ({
  results: [{ id: `passage for ${text}`, score: 0.5 }],
  latencyMs: 3,
  error: null,
});
const questions = await divideQuestions();
const answers = await readDemoAnswers();
const answerOf = (queryId: string): string => answers.get(questionOf(queryId)) ?? 'none';
const articleOf = (queryId: string): string => answerOf(queryId).split('/')[0] ?? 'none';

async function aDay(shares = NOTHING_MISSING) {
  const traffic = createDemoTraffic(questions, search, 0);
  const hours = [];
  for (let hour = 0; hour < 24; hour++) hours.push(await traffic.nextHour(FROM, shares));
  return hours;
}

it('the demo traffic asks about stored documents in sessions about one article, more often by day, and the same in every run', async () => {
  const hours = await aDay();
  const queries = hours.flat();
  expect(await aDay()).toEqual(hours);
  expect(new Set(queries.map(({ id }) => id)).size).toBe(queries.length);
  expect(hours[12]?.length).toBeGreaterThan(1.5 * (hours[0]?.length ?? 0));
  const articles = new Map<string | null, Set<string>>();
  for (const { id, sessionId } of queries) {
    articles.set(sessionId, (articles.get(sessionId) ?? new Set()).add(articleOf(id)));
  }
  expect([...articles.values()].every(({ size }) => size === 1)).toBe(true);
  expect(new Set(queries.map(({ id }) => articleOf(id))).size).toBe(47);
  expect(queries.filter(({ id }) => gapOf(answerOf(id)) !== null)).toEqual([]);
  expect(queries[0]).toMatchObject({
    results: [{ id: `passage for ${queries[0]?.text}`, score: 0.5 }],
    latencyMs: 3,
    error: null,
  });
});

it('the demo traffic can leak one document of another tenant to one user of an hour', async () => {
  const traffic = createDemoTraffic(questions, search, 0);
  const hour = await traffic.nextHour(FROM, NOTHING_MISSING, true);
  const foreign = hour.filter(({ results }) => results.some(({ fields }) => fields?.['tenant'] === 'globex'));
  expect(foreign).toHaveLength(1);
  expect(new Set(hour.map(({ segments }) => segments['tenant']))).toEqual(new Set(['acme']));
});

it('the demo traffic contains no golden query', async () => {
  const golden = new Set(questions.golden.map(({ id }) => id));
  expect(golden.size).toBe(100);
  const asked = (await aDay({ article: 0.1, answers: 0.1 })).flat().map(({ id }) => questionOf(id));
  expect(asked.filter((id) => golden.has(id))).toEqual([]);
  expect(questions.golden.filter(({ document }) => missingPassages.includes(document))).toEqual([]);
});

it.each<Gap>(['article', 'answers'])(
  'the demo traffic asks about missing %s in the configured share of sessions',
  async (gap) => {
    const hours = await aDay({ ...NOTHING_MISSING, [gap]: 0.1 });
    const sessions = new Map(hours.flat().map(({ id, sessionId }) => [sessionId, gapOf(answerOf(id))]));
    const about = [...sessions.values()].filter((one) => one === gap).length;
    expect(about / sessions.size).toBeGreaterThan(0.07);
    expect(about / sessions.size).toBeLessThan(0.13);
  },
);
