import { assert, property, stringMatching } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMalformed, isPlain } from '../../../../src/live/rules/query-form.ts';

describe('a query text is malformed', () => {
  it.each([
    ['percent escapes of a space', 'how%20do%20I%20reset%20my%20password'],
    ['percent escapes of letters beyond ASCII', 'Gr%C3%B6%C3%9Fe'],
    ['percent escapes that were encoded twice', 'a%2520b'],
    ['HTML entities', 'terms &amp; conditions'],
    ['a numeric HTML entity', 'what&#39;s new'],
    ['HTML tags', '<p>reset my password</p>'],
    ['escape sequences', String.raw`caf\u00e9 near me`],
    ['UTF-8 that was decoded as Latin-1', 'cafÃ©'],
    ['quotation marks that were decoded as Windows-1252', 'â€œquoted'],
    ['characters that could not be decoded', 'caf\uFFFD'],
    ['control characters', 'reset\0password'],
    ['an unfilled placeholder', 'Search for {{query}}'],
    ['an object that was converted to a string', '[object Object]'],
    ['a missing value that was converted to a string', 'undefined'],
  ])('if it contains %s', (_, text) => {
    expect(isMalformed(text)).toBe(true);
  });

  it.each([
    'What is 20% of 85?',
    'discount of 5%de la factura',
    'R&D budget',
    'is a < b and c > d?',
    'Ärger über Größe',
    'ÂNGELA',
    'first line\nsecond line',
    'what does undefined mean in JavaScript',
    'C:\\temp is full',
    '日本語の質問',
    '{"a": 1} is not valid YAML',
  ])('but not if a user may have typed it: %s', (text) => {
    expect(isMalformed(text)).toBe(false);
  });

  it('but not if it consists of letters, digits, spaces and common punctuation', () => {
    assert(
      property(stringMatching(/^[\p{L}0-9 .,?!'"()-]+$/u), (text) => {
        expect(isMalformed(text) && !/[\u00C2\u00C3\u00E2]|^(?:undefined|null|NaN)$/u.test(text)).toBe(false);
      }),
    );
  });

  it('if it contained a space and was percent-encoded', () => {
    assert(
      property(stringMatching(/^[a-zé?]{1,8} [a-zé?]{1,8}$/u), (text) => {
        expect(isMalformed(encodeURIComponent(text))).toBe(true);
      }),
    );
  });
});

it('a query text is plain if it has no capital letter, digit or punctuation mark', () => {
  expect(['reset password', 'größe einer wohnung', 'パスワード'].every(isPlain)).toBe(true);
  expect(['Reset password', 'reset password?', 'error 404', 'e-mail'].some(isPlain)).toBe(false);
});
