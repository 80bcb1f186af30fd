import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  concernedSegments,
  distinctExamples,
  isOneByLabel,
  labelTopic,
  nearestChunks,
} from '../../../../src/density/rules/topic-description.ts';
import {
  absorbedTopics,
  describeJudgedRelevance,
  matchTopics,
  topicAdvice,
  topicName,
} from '../../../../src/density/rules/uncovered-topic.ts';
import { aTopic } from '../../../support/uncovered-topics.ts';

const direction = (angle: number): Float64Array => Float64Array.of(Math.cos(angle), Math.sin(angle));
const found = (angle: number, cohesion = 0.9) => ({ centroid: direction(angle), cohesion });

describe('a topic that is found again', () => {
  it.each([
    [0, null, null],
    [25, 0.12, '12 % of the documents in judged results are relevant (95 % CI 4.2-30 %, n = 25).'],
  ])(
    'with %i judged queries and %s of relevant results is described as %s',
    (judgedQueries, relevantShare, sentence) => {
      expect(describeJudgedRelevance(aTopic({ judgedQueries, relevantShare }))).toBe(sentence);
    },
  );

  it('is matched with the most similar known topic, each known topic once', () => {
    const known = [
      { id: 'a', centroid: direction(0) },
      { id: 'b', centroid: direction(1) },
    ];
    const matches = matchTopics([found(0.2), found(0.1), found(1.1), found(2.5)], known);
    expect(matches.map((match) => match.known)).toEqual([null, 'a', 'b', null]);
  });

  it('is matched at a lower similarity if its queries are less similar to each other', () => {
    const known = [{ id: 'a', centroid: direction(0) }];
    const matches = matchTopics([found(1, 0.9)], known);
    expect(matches[0]?.known).toBeNull();
    expect(matchTopics([found(1, 0.5)], known)[0]?.known).toBe('a');
    expect(matchTopics([found(1.2, 0.5)], known)[0]?.known).toBeNull();
  });

  it('absorbs only topics that are no longer found separately', () => {
    const known = [0, 0.1, 0.2, 2].map((angle) => ({ id: `at ${angle}`, centroid: direction(angle) }));
    const matches = matchTopics([found(0.12), found(0.01)], known);
    expect(matches.map((match) => match.known)).toEqual(['at 0.1', 'at 0']);
    expect([...absorbedTopics(matches, known)]).toEqual([['at 0.2', 0]]);
  });

  it('is new if another model computed the vectors', () => {
    const other = { id: 'a', centroid: Float64Array.of(1, 0, 0) };
    expect(matchTopics([found(0)], [other])[0]).toMatchObject({ known: null });
  });

  it('is matched in the same way in any order', () => {
    const angles = fc.uniqueArray(fc.integer({ min: 0, max: 628 }), { maxLength: 6 });
    fc.assert(
      fc.property(angles, angles, (some, others) => {
        const topics = some.map((angle) => found(angle / 100));
        const known = others.map((angle) => ({ id: `k${angle}`, centroid: direction(angle / 100) }));
        const forwards = matchTopics(topics, known).map((match) => match.known);
        const backwards = matchTopics(topics.toReversed(), known.toReversed()).map((match) => match.known);
        expect(new Set(forwards)).toEqual(new Set(backwards));
        const named = forwards.filter((id) => id !== null);
        expect(new Set(named).size).toBe(named.length);
      }),
    );
  });
});

describe('the label of a topic', () => {
  const background = [
    'How do I reset my password?',
    'Where can I find the invoice of last month?',
    'How do I change the address of my account?',
    'Which plan is the cheapest for a small team?',
    'How do I delete my account?',
    'Can I get a refund for the last month?',
  ];

  it('contains words that its queries use and others do not', () => {
    const topic = [
      'How do I apply for parental leave?',
      'How long is parental leave for fathers?',
      'Does parental leave count for my pension?',
      'When do I have to ask for leave?',
    ];
    expect(labelTopic(topic, background).slice(0, 2).toSorted()).toEqual(['leave', 'parental']);
  });

  it('contains no common words, numbers or redacted parts', () => {
    const label = labelTopic(['what is [EMAIL] 2024 krypton', 'who is [EMAIL] 2024 krypton'], background);
    expect(label).toEqual(['krypton']);
  });

  it('is empty without texts, and computed from the topic alone without a background', () => {
    expect(labelTopic([], background)).toEqual([]);
    expect(labelTopic(['photosynthesis in plants', 'photosynthesis at night'], [])[0]).toBe('photosynthesis');
  });
});

it('names a topic by its label, or by its id if no texts are stored', () => {
  expect(topicName({ id: 't-1', label: ['parental', 'leave'] })).toBe('parental leave');
  expect(topicName({ id: 't-1', label: [] })).toBe('t-1');
});

describe('the chunks nearest to a topic', () => {
  it('are those that most queries found, with their mean cosine; ties are ordered by cosine', () => {
    expect(
      nearestChunks([
        [
          ['a', 0.5],
          ['b', 0.4],
        ],
        [
          ['b', 0.2],
          ['c', 0.1],
        ],
        [],
      ]),
    ).toEqual([
      ['b', expect.closeTo(0.3, 12)],
      ['a', 0.5],
      ['c', 0.1],
    ]);
  });

  it('are at most five, and do not depend on the order of the queries', () => {
    const chunk = fc.tuple(
      fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
      fc.integer({ min: 0, max: 8 }).map((n) => n / 8),
    );
    fc.assert(
      fc.property(fc.array(fc.array(chunk, { maxLength: 3 }), { maxLength: 8 }), (nearest) => {
        const chunks = nearestChunks(nearest);
        expect(chunks.length).toBeLessThanOrEqual(5);
        expect(nearestChunks(nearest.toReversed())).toEqual(chunks);
      }),
    );
  });
});

describe('the examples of a topic', () => {
  const members = ['a', 'b', 'c', 'd', 'e'];

  it('differ in their texts, most typical first', () => {
    const texts = new Map([
      ['a', 'when is it'],
      ['b', 'when is it'],
      ['c', 'who won'],
      ['d', 'who won'],
      ['e', 'where is it'],
    ]);
    expect(distinctExamples(['a', 'b', 'e'], members, texts)).toEqual(['a', 'c', 'e']);
    expect(distinctExamples(members, members, texts)).toEqual(['a', 'c', 'e']);
  });

  it('are the given queries if no texts are stored', () => {
    expect(distinctExamples(['a', 'b', 'e'], members, new Map())).toEqual(['a', 'b', 'e']);
  });
});

describe('the segments most affected', () => {
  const many = (count: number, tags: Record<string, string>) => Array.from({ length: count }, () => tags);
  const traffic = [...many(80, { tenant: 'acme', plan: 'free' }), ...many(20, { tenant: 'beta', plan: 'free' })];

  it('have a significantly larger share of the topic than of the traffic', () => {
    const topic = [...many(18, { tenant: 'beta', plan: 'free' }), ...many(2, { tenant: 'acme', plan: 'free' })];
    expect(concernedSegments(topic, traffic, ['tenant', 'plan'])).toEqual([['tenant=beta', 0.9]]);
  });

  it('are absent if all segments ask equally often about the topic, or if queries have no segments', () => {
    expect(concernedSegments(traffic.slice(70), traffic, ['plan'])).toEqual([]);
    expect(concernedSegments(many(1, { tenant: 'acme' }), traffic, ['tenant'])).toEqual([]);
    expect(concernedSegments(many(20, {}), traffic, ['tenant'])).toEqual([]);
    expect(concernedSegments([], traffic, ['tenant'])).toEqual([]);
  });
});

describe('a label', () => {
  const mixed = ['leave', 'printer', 'invoice', 'password'].flatMap((word) => [`${word} please`, `my ${word} is late`]);

  it('describes the topic if a third of the texts contain one of its terms', () => {
    expect(isOneByLabel(mixed, ['leave'])).toBe(false);
    expect(isOneByLabel(mixed, ['leave', 'printer'])).toBe(true);
    expect(isOneByLabel(mixed, [])).toBe(false);
  });

  it('does not reject a topic if no texts are stored', () => {
    expect(isOneByLabel([], [])).toBe(true);
  });
});

it('advice to restore documents requires chunks that are known to be missing', () => {
  expect(topicAdvice(aTopic({ cause: 'lost_content', lostChunks: ['chunk 5.1'] }))).toContain(
    'Restore their documents',
  );
  expect(topicAdvice(aTopic({ cause: 'lost_content', lostChunks: [] }))).toContain(
    'none of the chunks that they found is known to be missing',
  );
  expect(topicAdvice(aTopic({ cause: 'new_demand', lostChunks: [] }))).toContain('Add documents');
});
