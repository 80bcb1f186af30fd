import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatExactJson,
  JsonBeyondLimit,
  jsonLimits,
  parseBoundedJson,
  parseExactJson,
} from '../../../../src/core/text/json.ts';
import { anyText } from '../../connectors/retrievers/any-text.ts';

const anyLeaf = fc.oneof(
  anyText,
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
  fc.constantFrom(null, true, false),
);
const anyJson = fc.array(fc.oneof(anyLeaf, fc.array(anyLeaf), fc.dictionary(anyText, anyLeaf)));

describe('parseExactJson', () => {
  it('keeps every digit of an id, and all other values', () => {
    const text = '{"id": 1234567890123456789, "n": [-9007199254740993, 9007199254740991], "f": 0.1234567890123456}';
    expect(parseExactJson(text)).toStrictEqual({
      id: '1234567890123456789',
      n: ['-9007199254740993', 9007199254740991],
      f: 0.1234567890123456,
    });
  });

  it('does not change digits in strings, after escapes or in keys', () => {
    const value = {
      '1234567890123456789': 'say \\"1234567890123456789\\',
      b: '\\',
      c: '"1234567890123456789',
    };
    expect(parseExactJson(JSON.stringify(value))).toStrictEqual(value);
  });

  it('agrees with JSON.parse on all values beside a long integer', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = JSON.stringify(value);
        const parsed = parseExactJson(`[${text}, 1234567890123456789]`);
        expect(parsed).toStrictEqual([JSON.parse(text), '1234567890123456789']);
      }),
    );
  });

  it('returns every unsafe integer as digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        expect(parseExactJson(`[${integer}]`)).toStrictEqual([
          Number.isSafeInteger(Number(integer)) ? Number(integer) : String(integer),
        ]);
      }),
    );
  });

  it.each(['', '{', '{"a": 01234567890123456789}', '[1234567890123456789,]', '[NaN]'])('rejects %j', (text) => {
    expect(() => parseExactJson(text)).toThrowError(SyntaxError);
  });
});

describe('formatExactJson', () => {
  it('agrees with JSON.stringify on JSON values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(formatExactJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('writes every digit of a long id, and parseExactJson reads them', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }), (id) => {
        const text = formatExactJson({ ids: [id, 1, `${id}`] });
        expect(text).toBe(`{"ids":[${id},1,"${id}"]}`);
        expect(parseExactJson(text)).toEqual({ ids: [String(id), 1, String(id)] });
      }),
    );
  });
});

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

describe('untrusted JSON', () => {
  it('is parsed like JSON.parse within the limits', () => {
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
  ])('is checked against the limits before parsing: %s is %s', (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  it('may contain any brackets in strings and keys, after any escapes', () => {
    const brackets = fc.string({ unit: fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a', '\n', '€') });
    fc.assert(
      fc.property(brackets, brackets, (key, text) => {
        const value = { [`k${key}`]: [text, key, text] };
        expect(parseBoundedJson(JSON.stringify(value), limits)).toStrictEqual(value);
      }),
    );
  });

  it('is rejected one level beyond the limit, whatever precedes it', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 2 }), fc.constantFrom('[', '{"a":'), (before, open) => {
        const deep = `[${before},${open.repeat(jsonLimits.depth)}`;
        expect(codeOf(deep, jsonLimits)).toBe('too_deep');
      }),
    );
  });

  it('is rejected within 0.1 s of CPU time if it is four megabytes of opening brackets', () => {
    const text = '['.repeat(4_000_000);
    const before = process.cpuUsage().user;
    expect(codeOf(text, jsonLimits)).toBe('too_deep');
    // JSON.parse needs a second and more than a gigabyte for this text.
    expect(process.cpuUsage().user - before).toBeLessThan(100_000);
  });
});
