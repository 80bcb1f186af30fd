/** Negative feedback on live queries in a real database: what some users complain about, and what other users like. */

import { expect, it } from 'vitest';
import { createDb } from '../../../src/app/database.ts';
import { computeOfCommands } from '../../../src/density/compute.ts';
import { findComplaints } from '../../../src/density/find-complaints.ts';
import type { StoredFeedback } from '../../../src/live/sql/feedback-rows.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { rowOf } from '../../../src/math/vector/matrix.ts';
import { documents, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { aLiveSample, aStoredClick } from '../../support/live-rows.ts';
import { aStoredFeedback } from '../../support/live-traffic.ts';
import { evenQuestions, queryWorld } from '../../support/query-world.ts';

const database = useDatabase();
const DAY_MS = 86_400_000;
const words = [
  'salary of my manager',
  'parental leave',
  'travel costs',
  'a new laptop',
  'parking place',
  'canteen menu',
];
const LEAVE = 1;
const OTHERS = 300;
const NEGATIVE = 120;

it('a topic of negative feedback has a label, its share, examples, failures, and documents that other users clicked', async () => {
  const world = queryWorld(7, words.length, words.length);
  const from = new Date(NOON.getTime() - DAY_MS);
  const topics = words.map((_, topic) => topic);
  const questions = [
    ...evenQuestions(OTHERS, topics, from, DAY_MS),
    ...evenQuestions(NEGATIVE, topics, from, DAY_MS).map((question, i) =>
      i % 2 === 0 ? { ...question, topic: LEAVE } : question,
    ),
  ];
  const { vectors } = world.ask(questions);
  const samples: LiveSample[] = [];
  const feedback: StoredFeedback[] = [];
  for (const [i, { topic, occurredAt }] of questions.entries()) {
    const id = `q${i}`;
    const times = { receivedAt: occurredAt, occurredAt };
    const hasNegativeFeedback = i >= OTHERS;
    samples.push(
      aLiveSample({
        ...times,
        id,
        sessionHash: id,
        unitHash: i / 1000,
        text: `question ${i} about ${words[topic] ?? ''}`,
        embedding: rowOf(vectors, i),
        results: documents('other', `doc of topic ${hasNegativeFeedback ? 0 : topic}`),
        outcome: hasNegativeFeedback && i % 10 === 0 ? 'empty' : 'ok',
      }),
    );
    if (hasNegativeFeedback)
      feedback.push(
        aStoredFeedback({ ...times, id: `f${i}`, queryId: id, sentiment: 'negative', value: 0, userHash: id }),
      );
    else if (i % 3 === 0 || topic === LEAVE)
      feedback.push(
        aStoredClick({ ...times, id: `c${i}`, queryId: id, documentId: `doc of topic ${topic}`, userHash: id }),
      );
  }
  const traffic = createLiveTraffic(database.pool, 'me');
  await traffic.createPartitions(from);
  await traffic.createPartitions(NOON);
  await traffic.record({ samples, counts: [], levels: [] });
  await traffic.recordFeedback(feedback);

  const deps = contextOf({ reads: createDb(database.pool), compute: computeOfCommands });
  const found = await findComplaints(deps, 'docs', from, new AbortController().signal);
  if (found.kind !== 'topics') throw new Error('There were too few queries.');
  expect(found).toMatchObject({ negative: NEGATIVE, others: OTHERS });
  const [topic, ...others] = found.topics;
  expect(others).toEqual([]);
  expect(topic?.label.toSorted()).toEqual(['leave', 'parental']);
  expect(topic?.share.low).toBeGreaterThan(topic?.othersShare ?? 1);
  expect(topic?.shown.every(({ text }) => text?.includes('parental leave'))).toBe(true);
  expect(topic?.empty).toBeGreaterThan(0);
  expect(topic?.liked).toEqual([`doc of topic ${LEAVE}`]);

  const none = await findComplaints(deps, 'docs', NOON, new AbortController().signal);
  expect(none).toMatchObject({ kind: 'insufficient_data', of: 'negative', have: 0 });
});
