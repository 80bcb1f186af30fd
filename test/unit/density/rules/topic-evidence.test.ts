import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  concernedSegments,
  distinctExamples,
  nearestChunks,
} from '../../../../src/density/rules/topic-description.ts';

describe('the chunks nearest to a topic', () => {
  it('are those of most queries, of equally many the most similar, with their mean cosine', () => {
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

  it('are at most five, in whatever order the queries come', () => {
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

  it('differ in their texts, the most typical first', () => {
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

  it('are those that were chosen where no texts are kept', () => {
    expect(distinctExamples(['a', 'b', 'e'], members, new Map())).toEqual(['a', 'b', 'e']);
  });
});

describe('the segments most concerned', () => {
  const many = (count: number, tags: Record<string, string>) => Array.from({ length: count }, () => tags);
  const traffic = [
    ...many(80, { tenant: 'acme', plan: 'free' }),
    ...many(20, { tenant: 'beta', plan: 'free' }),
  ];

  it('have more of the topic than of the traffic, surely', () => {
    const topic = [
      ...many(18, { tenant: 'beta', plan: 'free' }),
      ...many(2, { tenant: 'acme', plan: 'free' }),
    ];
    expect(concernedSegments(topic, traffic, ['tenant', 'plan'])).toEqual([['tenant=beta', 0.9]]);
  });

  it('are none where the topic is asked about by all alike, or nobody tags the queries', () => {
    expect(concernedSegments(traffic.slice(70), traffic, ['plan'])).toEqual([]);
    expect(concernedSegments(many(1, { tenant: 'acme' }), traffic, ['tenant'])).toEqual([]);
    expect(concernedSegments(many(20, {}), traffic, ['tenant'])).toEqual([]);
    expect(concernedSegments([], traffic, ['tenant'])).toEqual([]);
  });
});
