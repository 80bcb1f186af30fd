import { expect, it } from 'vitest';
import { measureQueryMix } from '../../../src/live/measure-query-mix.ts';
import { NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { hours } from '../../support/measurements.ts';

/** Measures a window with these texts, each from a separate session. */
async function measured(texts: readonly string[], probability = 1) {
  const windows = {
    topQuery: async () => ({ share: 0.02, repeated: 0.3, queries: texts.length, sessions: texts.length }),
    texts: async () => texts.map((text, place) => ({ text, probability, cluster: place / texts.length })),
  };
  const window = { pipeline: 'docs', from: hours(-1), until: NOON };
  const outcomes = await measureQueryMix(
    contextOf({ clock: { now: () => NOON, sleep: async () => {} }, db: { live: { windows } } }),
    window,
    [],
    new AbortController().signal,
  );
  return Object.fromEntries(outcomes.map((outcome) => [outcome.measure, outcome]));
}

const of = (lengths: readonly number[]): string[] => lengths.map((length) => 'x'.repeat(length));

it('measures the mean length of queries, with a confidence interval over sessions', async () => {
  const lengths = Array.from({ length: 60 }, (_, place) => (place % 2 === 0 ? 40 : 60));
  const { query_characters: length } = await measured(of(lengths), 0.5);
  expect(length).toMatchObject({ kind: 'value', value: 50, n: 60, ciMethod: 'sessions_t' });
  // Student's t with 59 degrees of freedom is 2.001; the standard error is 10 / sqrt(59).
  expect(length).toMatchObject({ ciLow: expect.closeTo(50 - 2.605, 1), ciHigh: expect.closeTo(50 + 2.605, 1) });
});

it('measures the share of malformed texts, and the share of texts without capital letters, digits or punctuation', async () => {
  const texts = Array.from({ length: 60 }, (_, place) =>
    place < 15 ? 'reset%20my%20password' : place < 45 ? 'reset my password' : 'How do I reset it?',
  );
  const { malformed_query_ratio: malformed, plain_query_ratio: plain } = await measured(texts);
  expect(malformed).toMatchObject({ kind: 'value', value: 0.25, n: 60, ciMethod: 'sessions_wilson' });
  // The escape %20 contains digits and punctuation.
  expect(plain).toMatchObject({ kind: 'value', value: 0.5, n: 60, ciLow: expect.closeTo(0.38, 1) });
});

it('measures the share of queries that repeat a query of their session, with a confidence interval over sessions', async () => {
  const { repeated_query_ratio: repeated } = await measured(of(Array.from({ length: 60 }, () => 40)));
  // Wilson's interval for 18 of 60.
  expect(repeated).toMatchObject({
    value: 0.3,
    n: 60,
    ciLow: expect.closeTo(0.199, 3),
    ciHigh: expect.closeTo(0.425, 3),
  });
  expect((await measured(['a b'])).repeated_query_ratio).toMatchObject({ reason: 'too_few_queries' });
});

it('reports no data for a window with few or no query texts', async () => {
  expect((await measured(of([40, 60]))).query_characters).toMatchObject({ kind: 'no_data', reason: 'too_few_queries' });
  expect((await measured([])).query_characters).toMatchObject({ kind: 'no_data', reason: 'no_query_texts' });
  expect((await measured(['a b'])).malformed_query_ratio).toMatchObject({ reason: 'too_few_queries' });
});
