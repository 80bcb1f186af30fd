import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { labelTopic } from '../../../../src/density/rules/topic-description.ts';
import { absorbedTopics, matchTopics, topicName } from '../../../../src/density/rules/uncovered-topic.ts';

const direction = (angle: number): Float64Array => Float64Array.of(Math.cos(angle), Math.sin(angle));
const found = (angle: number, cohesion = 0.9) => ({ centroid: direction(angle), cohesion });

describe('a topic that is found again', () => {
  it('is the known one that it is most like, each known one once', () => {
    const known = [
      { id: 'a', centroid: direction(0) },
      { id: 'b', centroid: direction(1) },
    ];
    const matches = matchTopics([found(0.2), found(0.1), found(1.1), found(2.5)], known);
    expect(matches.map((match) => match.known)).toEqual([null, 'a', 'b', null]);
    expect(matches[1]?.similarity).toBeCloseTo(Math.cos(0.1), 12);
  });

  it('is known by less when its queries are less like each other', () => {
    const known = [{ id: 'a', centroid: direction(0) }];
    const matches = matchTopics([found(1, 0.9)], known);
    expect(matches[0]?.known).toBeNull();
    expect(matchTopics([found(1, 0.5)], known)[0]?.known).toBe('a');
    expect(matchTopics([found(1.2, 0.5)], known)[0]?.known).toBeNull();
  });

  it('takes in those that are no longer found apart from it, and no others', () => {
    const known = [0, 0.1, 0.2, 2].map((angle) => ({ id: `at ${angle}`, centroid: direction(angle) }));
    const matches = matchTopics([found(0.12), found(0.01)], known);
    expect(matches.map((match) => match.known)).toEqual(['at 0.1', 'at 0']);
    expect([...absorbedTopics(matches, known)]).toEqual([['at 0.2', 0]]);
  });

  it('is new when another model made the vectors', () => {
    const other = { id: 'a', centroid: Float64Array.of(1, 0, 0) };
    expect(matchTopics([found(0)], [other])[0]).toMatchObject({ known: null, similarity: null });
  });

  it('is matched alike in whatever order', () => {
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

  it('is what its queries speak of and others do not', () => {
    const topic = [
      'How do I apply for parental leave?',
      'How long is parental leave for fathers?',
      'Does parental leave count for my pension?',
      'When do I have to ask for leave?',
    ];
    expect(labelTopic(topic, background).slice(0, 2).toSorted()).toEqual(['leave', 'parental']);
  });

  it('holds no plain words, numbers or redacted places', () => {
    const label = labelTopic(['what is [EMAIL] 2024 krypton', 'who is [EMAIL] 2024 krypton'], background);
    expect(label).toEqual(['krypton']);
  });

  it('is empty without texts, and made of the topic alone without a background', () => {
    expect(labelTopic([], background)).toEqual([]);
    expect(labelTopic(['photosynthesis in plants', 'photosynthesis at night'], [])[0]).toBe('photosynthesis');
  });
});

it('a topic is called by its words, and by its id where no texts are kept', () => {
  expect(topicName({ id: 't-1', label: ['parental', 'leave'] })).toBe('parental leave');
  expect(topicName({ id: 't-1', label: [] })).toBe('t-1');
});
