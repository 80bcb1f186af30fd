import { array, assert, constantFrom, property, string, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fillPattern,
  matchesPattern,
  parsePattern,
  patternProblem,
} from '../../../../src/core/text/document-pattern.ts';

function matches(pattern: string, segments: Readonly<Record<string, string>>, value: string): boolean {
  const filled = fillPattern(parsePattern(pattern), segments);
  return filled !== null && matchesPattern(filled, value);
}

/** Strings that a naive pattern parser would treat as syntax. */
const hostile = constantFrom(
  '*',
  '/',
  '{{tenant}}',
  '{{',
  '}}',
  '$&',
  'é',
  'e\u0301',
  '\u0301',
  'K',
  '\u212a',
  'A',
  'a',
  ' ',
  '\u{1f600}',
);
const names = array(hostile, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
const paths = array(hostile, { maxLength: 6 }).map((parts) => parts.join(''));

describe('a document pattern', () => {
  it('fills in the value of a segment, and matches a prefix if the pattern ends with *', () => {
    expect(matches('{{tenant}}/*', { tenant: 'acme' }, 'acme/7')).toBe(true);
    expect(matches('{{tenant}}/*', { tenant: 'acme' }, 'acme')).toBe(false);
    expect(matches('{{tenant}}/*', { tenant: 'acme' }, 'acme2/7')).toBe(false);
    expect(matches('{{ region }}', { region: 'eu' }, 'eu')).toBe(true);
    expect(matches('{{region}}', { region: 'eu' }, 'eu-west')).toBe(false);
    expect(matches('t-{{tenant}}/{{lang}}/*', { tenant: 'a', lang: 'de' }, 't-a/de/1')).toBe(true);
  });

  it('matches nothing if a segment is missing, empty or inherited from the object prototype', () => {
    for (const segments of [{}, { tenant: '' }, { region: 'eu' }])
      for (const id of ['/7', '7', '', 'acme/7', '{{tenant}}/7'])
        expect(matches('{{tenant}}/*', segments, id)).toBe(false);
    expect(matches('{{constructor}}*', {}, 'function Object() { [native code] }')).toBe(false);
  });

  it('matches exactly the ids whose bytes begin with the value and the rest of the pattern, whatever the value contains', () => {
    assert(
      property(tuple(names, names, paths), ([tenant, other, rest]) => {
        for (const id of [`${tenant}/${rest}`, `${other}/${rest}`, `${tenant}${rest}`, rest, `/${rest}`]) {
          const wanted = Buffer.from(`${tenant}/`);
          const bytes = Buffer.from(id);
          const begins = bytes.subarray(0, wanted.length).equals(wanted);
          expect(matches('{{tenant}}/*', { tenant }, id)).toBe(begins);
          expect(matches('{{tenant}}', { tenant }, id)).toBe(bytes.equals(Buffer.from(tenant)));
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('without segments and without a * at the end matches only itself', () => {
    assert(
      property(tuple(string({ maxLength: 8 }), string({ maxLength: 8 })), ([id, other]) => {
        const pattern = id.replaceAll(/[*{}]/g, '.');
        expect(matches(pattern, {}, pattern)).toBe(true);
        expect(matches(pattern, {}, other)).toBe(other === pattern);
      }),
    );
  });
});

describe('the problem of a pattern in an isolation rule', () => {
  it.each([
    ['*', 'allows every document'],
    ['', 'allows every document'],
    ['a/*/b', 'before its end'],
    ['**', 'allows every document'],
    ['a**', 'before its end'],
    ['{{tenant}}*', 'put a separator before the *'],
    ['x-{{tenant}}*', 'put a separator before the *'],
    ['{{region}}/*', 'names {{region}}'],
    ['{{tenant/*', 'braces'],
    ['{{}}/*', 'names {{}}'],
  ])('is found in %j', (pattern, problem) => {
    expect(patternProblem(pattern, 'tenant')).toContain(problem);
  });

  it.each(['{{tenant}}/*', '{{ tenant }}/docs/*', 'public/*', '{{tenant}}', 'global'])('is none in %j', (pattern) => {
    expect(patternProblem(pattern, 'tenant')).toBeNull();
  });
});
