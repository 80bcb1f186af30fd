import { describe, expect, it } from 'vitest';
import {
  type Scale,
  type SentimentMapping,
  scaleProblem,
  sentimentOf,
} from '../../../../../src/live/rules/feedback/sentiment.ts';
import type { Feedback, FeedbackKind } from '../../../../../src/live/rules/live-query.ts';
import { aFeedback, usualSentimentMapping } from './builders.ts';

function read(kind: FeedbackKind, value: Feedback['value'], changes: Partial<SentimentMapping> = {}) {
  return sentimentOf(aFeedback({ kind, value }), { ...usualSentimentMapping, ...changes });
}

function reading(sentiment: string, value: number) {
  return { kind: 'reading', sentiment, value };
}

const outOfFive: Scale = { min: 1, max: 5, positive_from: 4, negative_to: 2 };

describe('a thumb', () => {
  it.each([true, 1, 'up', 'UP', ' thumbs up ', 'thumbs-up', 'THUMBS_UP', 'thumbsup', 'like', 'yes', '1', '+1'])(
    'of %j is positive',
    (value) => {
      expect(read('thumb', value)).toEqual(reading('positive', 1));
    },
  );

  it.each([false, -1, 'down', 'Thumbs_Down', 'thumb-down', 'dislike', 'not helpful', 'no', 'false', '-1'])(
    'of %j is negative',
    (value) => {
      expect(read('thumb', value)).toEqual(reading('negative', -1));
    },
  );

  it.each(['none', 'neutral', 'None'])('that was retracted as %j is neutral', (value) => {
    expect(read('thumb', value)).toEqual(reading('neutral', 0));
  });

  it.each([0, -0, '0'])('of %j is negative unless the config says that zero is neutral', (value) => {
    expect(read('thumb', value)).toEqual(reading('negative', -1));
    expect(read('thumb', value, { thumb_zero: 'neutral' })).toEqual(reading('neutral', 0));
  });

  it.each([null, 2, 0.5, -2, Number.NaN, '', 'maybe', '--1', 'u--p', '5', '_up'])('of %j is rejected', (value) => {
    expect(read('thumb', value)).toEqual({
      kind: 'refused',
      message: expect.stringContaining('value must be up or down'),
    });
  });
});

describe('a rating', () => {
  it.each([
    [5, 'positive'],
    [4, 'positive'],
    [3.9, 'neutral'],
    [3, 'neutral'],
    [2, 'negative'],
    [1, 'negative'],
  ])('of %d out of five is %s', (value, sentiment) => {
    expect(read('rating', value)).toEqual(reading(sentiment, value));
  });

  it('uses the scale of the config', () => {
    const rating: Scale = { min: 0, max: 10, positive_from: 9, negative_to: 6 };
    expect(read('rating', 9, { rating })).toEqual(reading('positive', 9));
    expect(read('rating', 7, { rating })).toEqual(reading('neutral', 7));
    expect(read('rating', 0, { rating })).toEqual(reading('negative', 0));
  });

  it.each([0, 5.5, -1, null, true, '5', Number.NaN, Number.POSITIVE_INFINITY])(
    'of %j is rejected on a scale of 1 to 5, with the valid values',
    (value) => {
      expect(read('rating', value)).toEqual({
        kind: 'refused',
        message: 'value must be a number from 1 to 5 for a rating; the pipeline config sets the scale.',
      });
    },
  );
});

describe('a relevance score', () => {
  it.each([
    [0, 'negative', 0],
    [1, 'positive', 1],
    [3, 'positive', 3],
    [0.5, 'neutral', 0.5],
    [true, 'positive', 1],
    [false, 'negative', 0],
  ])('of %j is %s', (value, sentiment, stored) => {
    expect(read('relevance', value)).toEqual(reading(sentiment, stored));
  });

  it.each([-1, null, 'high', Number.POSITIVE_INFINITY])('of %j is rejected', (value) => {
    expect(read('relevance', value)).toEqual({
      kind: 'refused',
      message: expect.stringContaining('value must be a number of at least 0 for a relevance'),
    });
  });
});

describe('behaviour', () => {
  it.each([
    ['click', 'positive'],
    ['copy', 'positive'],
    ['reformulation', 'negative'],
    ['abandonment', 'negative'],
    ['no_answer', 'negative'],
  ] as const)('of kind %s is %s', (kind, sentiment) => {
    for (const value of [null, true, 1]) expect(read(kind, value)).toEqual(reading(sentiment, 1));
  });

  it('with a value that may contain a query text is rejected without quoting the value', () => {
    const outcome = read('reformulation', 'where does Ada Lovelace live');
    expect(outcome).toEqual({ kind: 'refused', message: expect.stringContaining('value must be omitted') });
    expect(JSON.stringify(outcome)).not.toContain('Ada');
  });

  it('with the value false or 0 is rejected', () => {
    expect(read('click', false)).toMatchObject({ kind: 'refused' });
    expect(read('copy', 0)).toMatchObject({ kind: 'refused' });
  });
});

describe('a citation', () => {
  it('is neutral', () => {
    const cited = aFeedback({ kind: 'citation', value: null, documentId: 'kb-104' });
    expect(sentimentOf(cited, usualSentimentMapping)).toEqual(reading('neutral', 1));
  });

  it('without a document is rejected', () => {
    expect(read('citation', null)).toEqual({
      kind: 'refused',
      message: expect.stringContaining('document_id is missing'),
    });
  });
});

const behaviours = ['click', 'copy', 'reformulation', 'abandonment', 'no_answer'] as const;

describe('a sentiment in the config', () => {
  it.each(behaviours)('applies to every %s and to no other kind', (changed) => {
    for (const kind of behaviours) {
      const before = read(kind, true);
      const after = read(kind, true, { [changed]: 'neutral' });
      expect(before).toMatchObject({ kind: 'reading' });
      expect(after).toEqual(kind === changed ? { ...before, sentiment: 'neutral' } : before);
    }
  });
});

describe('a scale', () => {
  it('of the default mapping is valid', () => {
    expect(scaleProblem(outOfFive)).toBeNull();
    expect(scaleProblem(usualSentimentMapping.relevance)).toBeNull();
  });

  it.each([
    [{ min: 5 }, 'min below max'],
    [{ positive_from: 2 }, 'negative_to below positive_from'],
    [{ negative_to: 0 }, 'no value is negative'],
    [{ positive_from: 6 }, 'no value is positive'],
  ])('with %j is invalid for a stated reason', (changes, problem) => {
    expect(scaleProblem({ ...outOfFive, ...changes })).toContain(problem);
  });
});
