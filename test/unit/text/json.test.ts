import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBeyondLimit, jsonLimits, parseBoundedJson } from '../../../src/text/json.ts';

const limits = { depth: 3, containers: 5 };

function codeOf(text: string, within = limits): string {
  try {
    parseBoundedJson(text, within);
    return 'parsed';
  } catch (error) {
    if (error instanceof JsonBeyondLimit) return error.code;
    if (error instanceof SyntaxError) return 'not_json';
    throw error;
  }
}

describe('JSON of others', () => {
  it('is parsed as JSON.parse does, when it is within the limits', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 20 }), (text) => {
        expect(parseBoundedJson(text)).toStrictEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    ['[[[]]]', 'parsed'],
    ['[[[[]]]]', 'too_deep'],
    ['{"a":{"b":{"c":{}}}}', 'too_deep'],
    ['[{"a":[{}]}]', 'too_deep'],
    ['[[],[],[],[]]', 'parsed'],
    ['[[],[],[],[],[]]', 'too_large'],
    ['[[],{},[],{},[]]', 'too_large'],
    ['', 'not_json'],
    ['[[', 'not_json'],
    ['"[[[[', 'not_json'],
  ])('is judged before it is parsed: %s is %s', (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  it('may have any brackets in its strings and keys, behind any escapes', () => {
    const brackets = fc.string({ unit: fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a', '\n', '€') });
    fc.assert(
      fc.property(brackets, brackets, (key, text) => {
        const value = { [`k${key}`]: [text, key, text] };
        expect(parseBoundedJson(JSON.stringify(value), limits)).toStrictEqual(value);
      }),
    );
  });

  it('is refused when it is deeper by one than is taken, whatever stands before', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 2 }), fc.constantFrom('[', '{"a":'), (before, open) => {
        const deep = `[${before},${open.repeat(jsonLimits.depth)}`;
        expect(codeOf(deep, jsonLimits)).toBe('too_deep');
      }),
    );
  });

  it('costs nothing when it is four megabytes of opening brackets', () => {
    const text = '['.repeat(4_000_000);
    const before = process.cpuUsage().user;
    expect(codeOf(text, jsonLimits)).toBe('too_deep');
    // JSON.parse takes a second for it, and more than a gigabyte.
    expect(process.cpuUsage().user - before).toBeLessThan(100_000);
  });
});
