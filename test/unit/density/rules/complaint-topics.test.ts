import { array, assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { complaintTopics, type RatedQuery } from '../../../../src/density/rules/complaint-topics.ts';
import { selectRows } from '../../../../src/math/vector/matrix.ts';
import { evenQuestions, queryWorld } from '../../../support/query-world.ts';

const DAY = 86_400_000;
const FROM = new Date('2026-11-10T00:00:00Z');
const TOPICS = [0, 1, 2, 3, 4, 5];
const DISLIKED = 4;

/**
 * Returns satisfied and dissatisfied users from four days; `share` is the share of dissatisfied users who ask about one
 * topic.
 */
function aWorld(share: number, negative = 400) {
  const world = queryWorld(7, TOPICS.length, TOPICS.length);
  const every = share === 0 ? Number.POSITIVE_INFINITY : Math.round(1 / share);
  const questions = [
    ...evenQuestions(1200, TOPICS, FROM, 4 * DAY),
    ...evenQuestions(negative, TOPICS, FROM, 4 * DAY).map((question, i) => ({
      ...question,
      session: `${question.session} again`,
      topic: i % every === 0 ? DISLIKED : question.topic,
    })),
  ];
  const { vectors, queries } = world.ask(questions);
  const rated = queries.map(
    ({ id, session, occurredAt }, i): RatedQuery => ({
      id,
      session: session ?? id,
      day: occurredAt.toISOString().slice(0, 10),
      isNegative: i >= 1200,
    }),
  );
  const topicOf = new Map(queries.map(({ id }, i) => [id, questions[i]?.topic]));
  return { rated, vectors, topicOf };
}

describe('a topic of negative feedback', () => {
  it('is more frequent there than in other queries, and has a share, days and similar queries', () => {
    const { rated, vectors, topicOf } = aWorld(0.5);
    const found = complaintTopics(rated, vectors, 1);
    if (found.kind !== 'topics') throw new Error('There were too few queries.');
    expect(found).toMatchObject({ negative: 400, others: 1200 });
    const [topic, ...others] = found.topics;
    expect(others).toEqual([]);
    const purity = (ids: readonly string[] = []): number =>
      ids.filter((id) => topicOf.get(id) === DISLIKED).length / ids.length;
    expect(purity(topic?.members)).toBeGreaterThan(0.95);
    expect(purity(topic?.alike)).toBeGreaterThan(0.95);
    expect(topic?.share.value).toBeCloseTo(0.5, 2);
    expect(topic?.othersShare).toBeCloseTo(1 / 6, 1);
    expect(topic?.days.map(({ day }) => day)).toEqual(['2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13']);
    expect(topic?.days.reduce((sum, { negative }) => sum + negative, 0)).toBe(400);
    expect(topic?.days.reduce((sum, { sessions }) => sum + sessions, 0)).toBe(topic?.sessions);
  });

  it('is absent if other queries have the same topics, and unknown with too few queries', () => {
    const alike = aWorld(0);
    expect(complaintTopics(alike.rated, alike.vectors, 1)).toMatchObject({ kind: 'topics', topics: [] });
    const few = aWorld(0.5, 20);
    expect(complaintTopics(few.rated, few.vectors, 1)).toMatchObject({
      kind: 'insufficient_data',
      of: 'negative',
      have: 20,
    });
  });

  it('is found even among only a hundred queries with negative feedback', () => {
    const { rated, vectors, topicOf } = aWorld(0.5, 100);
    const found = complaintTopics(rated, vectors, 1);
    const members = found.kind === 'topics' ? (found.topics[0]?.members ?? []) : [];
    expect(members.length).toBeGreaterThan(40);
    expect(members.every((id) => topicOf.get(id) === DISLIKED)).toBe(true);
  });

  it('does not depend on the order of the queries', () => {
    const { rated, vectors } = aWorld(0.5, 120);
    const known = complaintTopics(rated, vectors, 1);
    assert(
      property(array(integer(), { minLength: rated.length, maxLength: rated.length }), (keys) => {
        const order = rated.map((_, row) => row).toSorted((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0));
        const shuffled = order.flatMap((row) => rated[row] ?? []);
        const found = complaintTopics(shuffled, selectRows(vectors, order), 1);
        const idsOf = (one: typeof found) => (one.kind === 'topics' ? one.topics.map(({ members }) => members) : null);
        expect(idsOf(found)).toEqual(idsOf(known));
      }),
      { numRuns: 3 },
    );
  });
});
