import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closest, editDistance } from '../../../../src/core/text/spelling.ts';

describe('the closest candidate for a misspelt word', () => {
  const keys = ['timeout_ms', 'retries', 'results', 'url', 'method'];

  it.each([
    ['timout_ms', 'timeout_ms'],
    ['retrys', 'retries'],
    ['result', 'results'],
    ['ur', 'url'],
    ['urls', 'url'],
    ['METHOD', null],
    ['body', null],
    ['', null],
  ])('for %j is %j', (word, meant) => {
    expect(closest(word, keys)).toBe(meant);
  });

  it('is the word itself if it is a candidate', () => {
    for (const key of keys) expect(closest(key, keys)).toBe(key);
  });

  it('is the closer one of two candidates, and the first one of two equally close candidates', () => {
    expect(closest('reslts', ['results', 'resets'])).toBe('results');
    expect(closest('cat', ['bat', 'hat'])).toBe('bat');
  });

  it('is null without candidates', () => {
    expect(closest('url', [])).toBeNull();
  });
});

describe('the edit distance', () => {
  it.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['kitten', 'sitting', 3],
    ['flaw', 'lawn', 2],
    ['ab', 'ba', 2],
  ])('of %j and %j is %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  it('is a metric: 0 only for equal words, symmetric, and within the triangle inequality', () => {
    const word = fc.string({ maxLength: 8, unit: fc.constantFrom('a', 'b', 'c') });
    fc.assert(
      fc.property(word, word, word, (a, b, c) => {
        expect(editDistance(a, b) === 0).toBe(a === b);
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, c)).toBeLessThanOrEqual(editDistance(a, b) + editDistance(b, c));
      }),
    );
  });
});
