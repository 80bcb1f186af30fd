import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBeyondLimit } from '../../../../src/core/text/json.ts';
import { endsEarly, findJsonFault, parseLooseJson } from '../../../../src/core/text/loose-json.ts';

describe('parseLooseJson', () => {
  it.each<[string, string, unknown]>([
    ['NaN and the infinities of Python', '[NaN, Infinity, -Infinity, nan, -inf]', [null, null, null, null, null]],
    ['Python literals', "{'a': None, 'b': True, 'c': False}", { a: null, b: true, c: false }],
    ['JSON literals', '[null, true, false]', [null, true, false]],
    ['single quotes with escapes', `['it\\'s', "\\x41\\u00e9\\n", 'a\\\\b']`, ["it's", 'Aé\n', 'a\\b']],
    ['tuples, even of one element', "[('a', 0.5), ('b',), ('c')]", [['a', 0.5], ['b'], 'c']],
    ['sets, and keys that are numbers', "[{'a', 'b'}, {1: 'x'}]", [['a', 'b'], { 1: 'x' }]],
    ['trailing commas', '{"a": [1, 2,],}', { a: [1, 2] }],
    ['string prefixes', "[b'a', u'b', r'c']", ['a', 'b', 'c']],
    [
      '64-bit integers, which keep every digit',
      '{"id": 9007199254740993, "n": NaN}',
      { id: '9007199254740993', n: null },
    ],
    [
      'a call with keyword arguments',
      "[Document(id='a', metadata={'source': 'x'}, page_content='t')]",
      [{ id: 'a', metadata: { source: 'x' }, page_content: 't' }],
    ],
    ['calls that wrap a value', "[UUID('a'), np.float64(0.5), array([0.1], dtype=float32)]", ['a', 0.5, [0.1]]],
    ['an object that Python prints only by name', "{'o': <X object at 0x7f>, 'p': 1}", { o: null, p: 1 }],
    ['a key named __proto__', "{'__proto__': {'a': 1}}", JSON.parse('{"__proto__": {"a": 1}}')],
  ])('parses %s', (_, text, value) => {
    expect(parseLooseJson(text)).toEqual(value);
  });

  it.each(['[1, 2', '[what]', '{"a" 1}', "'open", '[1] [2]', '', '[1 2]', '(what is it?)'])(
    'rejects incomplete or ambiguous text: %s',
    (text) => {
      expect(() => parseLooseJson(text)).toThrow(SyntaxError);
    },
  );

  it('rejects text that nests too deeply', () => {
    expect(() => parseLooseJson('['.repeat(5000))).toThrow(JsonBeyondLimit);
    expect(() => parseLooseJson('('.repeat(5000))).toThrow(JsonBeyondLimit);
  });

  it('agrees with JSON.parse on valid JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parseLooseJson(text))).toBe(JSON.stringify(withLongIntegersAsText(JSON.parse(text))));
        expect(findJsonFault(text)).toBeNull();
      }),
    );
  });

  it('throws only SyntaxError or JsonBeyondLimit', () => {
    const pieces = fc.constantFrom(...Array.from('[](){}<>\'":,.-\\ aN1x\n'), 'NaN', 'None', 'id=', "b'");
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
        const text = parts.join('');
        try {
          parseLooseJson(text);
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
        findJsonFault(text);
      }),
      { numRuns: 3000 },
    );
  });
});

/** Converts integers beyond 2^53 - 1 to text, as parseLooseJson does. */
function withLongIntegersAsText(value: unknown): unknown {
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    /^-?\d+$/.test(String(value))
  )
    return String(value);
  if (Array.isArray(value)) return value.map(withLongIntegersAsText);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withLongIntegersAsText(one)]));
}

describe('the first fault of text that is not JSON', () => {
  it.each<[string, string, object]>([
    [
      'NaN',
      '{"results":\n[{"id":"a","score":NaN}]}',
      { line: 2, column: 20, path: 'results[0].score', problem: /^NaN.*send null/ },
    ],
    ['a Python literal', '{"a": True}', { path: 'a', problem: /^True.*send true/ }],
    ['single quotes', "{'a': 1}", { line: 1, column: 2, problem: /single quotes/ }],
    ['a trailing comma', '{"a": [1,]}', { path: 'a', problem: /comma/ }],
    ['a missing comma', '[1 2]', { problem: /no comma/ }],
    ['an unexpected end', '{"a": "secret', { path: 'a', problem: /end of input inside a string/ }],
    ['empty text', '', { line: 1, column: 1, problem: /end of input before a value/ }],
    ['a second value', '{} {}', { column: 4, problem: /more than one value/ }],
    ['a line feed in text', '["a\nb"]', { path: '[0]', problem: /line feed/ }],
  ])('is reported with its position: %s', (_, text, { problem, ...place }: { problem?: RegExp }) => {
    const fault = findJsonFault(text);
    expect(fault).toMatchObject(place);
    expect(fault?.problem).toMatch(problem as RegExp);
    expect(fault?.problem).not.toContain('secret');
  });

  it('is found exactly in the texts that JSON.parse rejects', () => {
    const pieces = fc.constantFrom(...Array.from('[]{}":,.-\\ 10e\n'), 'null', 'true', '"a"', '"b":1', 'NaN');
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        expect(findJsonFault(text) === null).toBe(isJson(text));
      }),
      { numRuns: 3000 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

it('a text ends early when it stops inside a list or an object, but not when it is complete or not JSON', () => {
  const whole = '{"documents": [{"id": "a", "text": "it\'s"}, {"id": "b", "n": null}]}';
  expect(endsEarly(whole)).toBe(false);
  for (let length = 1; length < whole.length; length += 1) expect(endsEarly(whole.slice(0, length))).toBe(true);
  for (const other of ['', 'how do I pay', '[what is it?]', '"text"']) expect(endsEarly(other)).toBe(false);
});
