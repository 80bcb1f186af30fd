import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textHash, userIdHmac } from '../../../../../src/live/privacy/rules/redactor.ts';

const KEY = 'a key of at least 16 bytes';

function hmac(value: string): string {
  return createHmac('sha256', KEY).update(value).digest('hex');
}

describe('the hash of a text', () => {
  it('is HMAC-SHA-256 over the domain and the normalized text, in hex', () => {
    expect(textHash('  How DO I …? ', KEY)).toBe(hmac('recalld/text/v1\0how do i …?'));
  });

  it.each([
    ['upper and lower case', 'Straße', 'STRASSE'],
    ['composed and decomposed letters', 'é', 'e\u0301'],
    ['final and other sigma', 'ΟΔΟΣ', 'οδος'],
    ['capital and small sharp s', 'ẞ', 'ß'],
    ['white space at the ends', '\n a b\t', 'a b'],
    ['dotted capital i in either form', 'İ', 'I\u0307'],
  ])('is equal for %s', (_name, a, b) => {
    expect(textHash(a, KEY)).toBe(textHash(b, KEY));
  });

  it.each([
    ['other words', 'a b', 'a c'],
    ['other spaces inside', 'a b', 'a  b'],
    ['an accent', 'e', 'é'],
  ])('distinguishes %s', (_name, a, b) => {
    expect(textHash(a, KEY)).not.toBe(textHash(b, KEY));
  });

  it('ignores case', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(textHash(text.toUpperCase(), KEY)).toBe(textHash(text, KEY));
        expect(textHash(text.toLowerCase(), KEY)).toBe(textHash(text, KEY));
      }),
    );
  });
});

describe('the HMAC of a user id', () => {
  it('is HMAC-SHA-256 over the domain and the exact id, in hex', () => {
    expect(userIdHmac(' User-7 ', KEY)).toBe(hmac('recalld/user/v1\0 User-7 '));
  });

  it('differs from the hash of the same text, and by key', () => {
    expect(userIdHmac('u1', KEY)).not.toBe(textHash('u1', KEY));
    expect(userIdHmac('u1', KEY)).not.toBe(userIdHmac('u1', `${KEY}.`));
  });
});
