import { expect, it } from 'vitest';
import { readDemoAnswers } from '../../../src/demo/rag/corpus.ts';
import { isOfMissingArticle } from '../../../src/demo/rag/fault.ts';
import { createDemoTraffic, divideQuestions, questionOf } from '../../../src/demo/traffic.ts';

const FROM = new Date('2026-03-02T00:00:00Z');
const search = async (text: string) => ({
  results: [{ id: `passage for ${text}`, score: 0.5 }],
  latencyMs: 3,
  error: null,
});
const questions = await divideQuestions();
const answers = await readDemoAnswers();
const articleOf = (queryId: string): string => answers.get(questionOf(queryId))?.split('/')[0] ?? 'none';

async function aDay(missingShare: number) {
  const traffic = createDemoTraffic({ pipeline: 'demo', questions, search, firstHour: 0 });
  const hours = [];
  for (let hour = 0; hour < 24; hour++) hours.push(await traffic.nextHour(FROM, missingShare));
  return hours;
}

it('asks about what the store holds, in sessions of one article, more by day, the same in every run', async () => {
  const hours = await aDay(0);
  const queries = hours.flat();
  expect(await aDay(0)).toEqual(hours);
  expect(new Set(queries.map(({ id }) => id)).size).toBe(queries.length);
  expect(hours[12]?.length).toBeGreaterThan(1.5 * (hours[0]?.length ?? 0));
  const articles = new Map<string | null, Set<string>>();
  for (const { id, sessionId } of queries) {
    articles.set(sessionId, (articles.get(sessionId) ?? new Set()).add(articleOf(id)));
  }
  expect([...articles.values()].every(({ size }) => size === 1)).toBe(true);
  expect(new Set(queries.map(({ id }) => articleOf(id))).size).toBe(47);
  expect(queries.some(({ id }) => isOfMissingArticle(`${articleOf(id)}/`))).toBe(false);
  expect(queries[0]).toMatchObject({
    results: [{ id: `passage for ${queries[0]?.text}`, score: 0.5 }],
    latencyMs: 3,
    error: null,
  });
});

it('asks none of the golden questions', async () => {
  const golden = new Set(questions.golden.map(({ id }) => id));
  expect(golden.size).toBe(200);
  const asked = (await aDay(0.1)).flat().map(({ id }) => questionOf(id));
  expect(asked.filter((id) => golden.has(id))).toEqual([]);
});

it('asks about the missing article in the share of the sessions that it is told', async () => {
  const sessions = new Map((await aDay(0.1)).flat().map(({ id, sessionId }) => [sessionId, articleOf(id)]));
  const about = [...sessions.values()].filter((article) => isOfMissingArticle(`${article}/`)).length;
  expect(about / sessions.size).toBeGreaterThan(0.07);
  expect(about / sessions.size).toBeLessThan(0.13);
});
