import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type OpinionTally, positiveRatio, positiveRatios } from '../../../../../src/live/rules/feedback/sentiment.ts';
import { kindsOf } from '../../../../../src/live/rules/feedback/user-cap.ts';
import { feedbackKinds } from '../../../../../src/live/rules/live-query.ts';

/** Returns a tally of `count` opinions, by default positive, none of which was replaced or exceeds a cap. */
function opinions(count: number, parts: Partial<OpinionTally> = {}): OpinionTally {
  return { kind: 'thumb', sentiment: 'positive', segments: [], feedback: count, opinions: count, ...parts };
}

describe('the positive ratio', () => {
  // Reference values from Newcombe, Statistics in Medicine 17, 1998, table I, method 3.
  it.each([
    [81, 182, 0.2553, 0.3662],
    [15, 133, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 28, 0.0061, 0.1718],
  ])(
    'of %d positive and %d negative opinions has the confidence interval %d to %d',
    (positive, negative, low, high) => {
      const ratio = positiveRatio({ positive, negative });
      expect(ratio).toMatchObject({ kind: 'ratio', n: positive + negative, positive, negative });
      if (ratio.kind !== 'ratio') throw new Error('There were too few opinions.');
      expect(ratio.value).toBe(positive / (positive + negative));
      expect(ratio.low).toBeCloseTo(low, 4);
      expect(ratio.high).toBeCloseTo(high, 4);
    },
  );

  it('lies within its confidence interval, which lies within 0 and 1', () => {
    const count = fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 2 ** 40 }));
    fc.assert(
      fc.property(count, count, (positive, negative) => {
        fc.pre(positive + negative > 0);
        const ratio = positiveRatio({ positive, negative });
        if (ratio.kind !== 'ratio') throw new Error('There were too few opinions.');
        expect(ratio.low).toBeGreaterThanOrEqual(0);
        expect(ratio.low).toBeLessThanOrEqual(ratio.value);
        expect(ratio.high).toBeGreaterThanOrEqual(ratio.value);
        expect(ratio.high).toBeLessThanOrEqual(1);
        expect(ratio.high - ratio.low).toBeGreaterThan(0);
      }),
    );
  });

  it('is insufficient data with the number of opinions if there are too few', () => {
    expect(positiveRatio({ positive: 3, negative: 1 }, 5)).toEqual({
      kind: 'insufficient_data',
      of: 'opinions',
      have: 4,
      need: 5,
    });
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('rejects a count of %d opinions', (positive) => {
    expect(() => positiveRatio({ positive, negative: 1 })).toThrow(RangeError);
    expect(() => positiveRatio({ positive: 1, negative: positive })).toThrow(RangeError);
  });
});

describe('the positive ratios of a window', () => {
  it('cover all feedback and each segment', () => {
    const ratios = positiveRatios([
      opinions(3, { segments: ['language=en', 'tenant=a'] }),
      opinions(2, { segments: ['language=de', 'tenant=a'], sentiment: 'negative' }),
    ]);
    expect(
      [...ratios].map(([segment, ratio]) => [segment, ratio.kind === 'ratio' && [ratio.positive, ratio.n]]),
    ).toEqual([
      ['all', [3, 5]],
      ['language=en', [3, 3]],
      ['tenant=a', [3, 5]],
      ['language=de', [0, 2]],
    ]);
  });

  it('count an opinion once in a merged segment', () => {
    expect(positiveRatios([opinions(2, { segments: ['other', 'other'] })]).get('other')).toMatchObject({
      n: 2,
    });
  });

  it('count feedback on unknown and unsampled queries', () => {
    const ratios = positiveRatios([opinions(2, { segments: ['language=en'] }), opinions(3)]);
    expect(ratios.get('all')).toMatchObject({ n: 5 });
    expect(ratios.get('language=en')).toMatchObject({ n: 2 });
  });

  it('exclude neutral opinions and those beyond the cap of their user', () => {
    const ratios = positiveRatios([
      opinions(2),
      opinions(4, { sentiment: 'neutral' }),
      opinions(0, { feedback: 8, segments: ['language=en'] }),
    ]);
    expect(ratios.get('all')).toMatchObject({ value: 1, n: 2 });
    expect(ratios.get('language=en')).toMatchObject({ kind: 'insufficient_data', have: 0 });
  });

  it('can be restricted to explicit or implicit feedback', () => {
    const feedback = [opinions(1, { sentiment: 'negative' }), opinions(9, { kind: 'click' })];
    expect(positiveRatios(feedback, 'all').get('all')).toMatchObject({ value: 0.9 });
    expect(positiveRatios(feedback, 'explicit').get('all')).toMatchObject({ value: 0, n: 1 });
    expect(positiveRatios(feedback, 'implicit').get('all')).toMatchObject({ value: 1, n: 9 });
  });

  it('are insufficient data without opinions, never NaN', () => {
    expect([...positiveRatios([])]).toEqual([['all', { kind: 'insufficient_data', of: 'opinions', have: 0, need: 1 }]]);
  });
});

it('classifies every kind of feedback except citations as explicit or implicit', () => {
  const opinionKinds = feedbackKinds.filter((kind) => kind !== 'citation').toSorted();
  expect([...kindsOf('explicit'), ...kindsOf('implicit')].toSorted()).toEqual(opinionKinds);
  expect([...kindsOf('all')].toSorted()).toEqual(opinionKinds);
  expect(kindsOf('explicit')).toEqual(['thumb', 'rating', 'relevance']);
});
