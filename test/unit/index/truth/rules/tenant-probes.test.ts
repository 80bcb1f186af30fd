import { describe, expect, it } from 'vitest';
import { queryTextOf, sharedPrefix } from '../../../../../src/index/truth/rules/findings.ts';

describe('the ids of a segment', () => {
  it.each([
    ['tenant-b/10', 'tenant-b/17', 'tenant-b/'],
    ['b:docs:1', 'b:faq:9', 'b:'],
    ['b/1', 'b/1', 'b/'],
    ['b_ä1', 'b_ä2', 'b_'],
    ['docs-1', 'faq-1', null],
    ['b1', 'b2', null],
    ['b*1', 'b*2', null],
    ['', 'b', null],
  ])('from %j to %j have the prefix %j', (first, last, beginning) => {
    expect(sharedPrefix(first, last)).toBe(beginning);
  });
});

describe('a probe query', () => {
  it('is the beginning of the first non-empty text', () => {
    expect(queryTextOf([null, '  ', `\n ${'word '.repeat(100)}`])).toBe('word '.repeat(60).trim());
  });

  it('is null without a text', () => {
    expect(queryTextOf([null, ' \n'])).toBeNull();
  });
});
