import { assert, jsonValue, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { visibleJson, visibleText } from '../../../../src/core/text/visible-text.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: no control character may remain.
// oxlint-disable-next-line no-control-regex -- no control character may remain.
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

it.each([
  ['\u001b]0;title\u0007', String.raw`\x1b]0;title\x07`],
  ['a\rb', String.raw`a\x0db`],
  ['\u009b31m', String.raw`\x9b31m`],
  ['abc\u202egnp.exe', String.raw`abc\u202egnp.exe`],
  ['\u{e0041}', String.raw`\u{e0041}`],
  ['Zürich, 東京, 👩‍🚀, می‌خواهم\n\tnext', 'Zürich, 東京, 👩‍🚀, می‌خواهم\n\tnext'],
])('%j is shown as %s', (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it('no text reaches a terminal with control characters', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      expect(visibleText(text)).not.toMatch(controlCharacters);
    }),
  );
});

it('escaped JSON parses to the original value', () => {
  assert(
    property(jsonValue({ stringUnit: 'binary' }), (value) => {
      const json = JSON.stringify(value, null, 2);
      expect(JSON.parse(visibleJson(json))).toEqual(JSON.parse(json));
      expect(visibleJson(json)).not.toMatch(controlCharacters);
    }),
  );
});
