import { describe, expect, it } from 'vitest';
import { readReference, storeReference } from '../../../../../src/live/rules/feedback/reference-ctr.ts';
import { aReference } from './builders.ts';

describe('a stored reference', () => {
  const reference = aReference([0.3, 0.1]);

  it('is read as it was, also after a way through JSON', () => {
    const stored = JSON.parse(JSON.stringify(storeReference(reference))) as Record<string, unknown>;
    expect(readReference(stored)).toEqual(reference);
  });

  it.each<[string, Record<string, unknown>]>([
    ['nothing', { kind: undefined }],
    ['no rates', { rates: [], covariance: [] }],
    ['a rate of 0, by which nothing can be divided', { rates: [0.3, 0] }],
    ['a rate above 1', { rates: [0.3, 1.1] }],
    ['a rate that is a text', { rates: [0.3, '0.1'] }],
    ['rates without their covariance', { covariance: undefined }],
    ['a covariance of fewer rates', { covariance: [[0]] }],
    ['a covariance that is not square', { covariance: [[0, 0], [0]] }],
    [
      'a covariance with a hole',
      {
        covariance: [
          [0, 0],
          [0, null],
        ],
      },
    ],
    ['no number of clicks', { clicks: 'many' }],
  ])('is none when it holds %s', (_what, parts) => {
    expect(readReference({ ...storeReference(reference), ...parts })).toBeNull();
  });
});
