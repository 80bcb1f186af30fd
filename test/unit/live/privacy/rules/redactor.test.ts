import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { card, email, iban, ip, phone } from '../../../../../src/live/privacy/rules/personal-detectors.ts';
import { createRedactor, patternProblems, type Redactor } from '../../../../../src/live/privacy/rules/redactor.ts';
import { credentials, privateKey, secret, token } from '../../../../../src/live/privacy/rules/secret-detectors.ts';
import { negatives, positives } from './examples.ts';

const redact = createRedactor();

/** Random mixes of personal data, words, placeholders and unusual characters. */
const anyText = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...positives.map(([text]) => text), ...negatives) },
      {
        weight: 4,
        arbitrary: fc.constantFrom('', ' ', ', ', '\n', ':', '-', '+', '.', '/', '@', '0', '1', '"', 'x'),
      },
      { weight: 1, arbitrary: fc.constantFrom('[EMAIL]', '[PHONE]', '[SECRET', '[REDACTED]', '［EMAIL］') },
      { weight: 2, arbitrary: fc.string() },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) },
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe('a redacted text', () => {
  it.each(positives)('hides personal data in %j', (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each(negatives)('is unchanged without personal data: %j', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('does not change when it is redacted again', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const once = redact(text);
        expect(redact(once)).toBe(once);
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps every character outside matches', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const redacted = redact(text);
        fc.pre(redacted !== '[REDACTED]');
        // The text between placeholders occurs in the original in the same order.
        let position = 0;
        for (const part of redacted.split(/\[[A-Z_]+\]/)) {
          const found = text.indexOf(part, position);
          expect(found).toBeGreaterThanOrEqual(position);
          position = found + part.length;
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each(['a@b.co', '4111 1111 1111 1111', 'DE89 3704 0044 0532 0130 00', '+44 20 7946 0958', '2001:db8::1'])(
    'hides %j between any words',
    (secret) => {
      const word = fc.constantFrom('please', 'see', 'it', 'was', 'to', 'and', 'für', '是', '—', '(', ')', '"', '\n');
      fc.assert(
        fc.property(fc.array(word), fc.array(word), (before, after) => {
          const text = redact([...before, secret, ...after].join(' '));
          expect(text).not.toContain(secret);
          expect(text).toMatch(/\[(?:EMAIL|CARD|IBAN|PHONE|IP)\]/);
        }),
      );
    },
  );
});

describe('a hostile text', () => {
  const fragments = (
    'a|@|a@|.|-|+|1|1 |+1|06 |01.02.2024 |password=|password=!|key=|key |eyJ|eyJaaaaa.|sk-|sk-a1|://|a://a:|a://a@|' +
    '-----BEGIN PRIVATE KEY-----|bearer a|authorization: |DE89 |4111 |4 |tel number |(11) |::|a:|1.|1.1.1.|[EMAIL]|"|' +
    '"a@|SG.aaaaaaaaaaaaaaaa|\u200b|１|😀|\ud800|[|hooks.slack.com/services/'
  ).split('|');

  it.each(fragments)(
    'of 100 kB made of %j is redacted within the time limit, with bounded length',
    { timeout: 20_000 },
    (fragment) => {
      const text = fragment.repeat(Math.ceil(100_000 / fragment.length));
      // `a://a@` grows the most: one character, the user name, becomes a placeholder.
      expect(redact(text).length).toBeLessThanOrEqual(text.length * 3);
    },
  );

  it('that changes with every redaction is replaced as a whole', () => {
    expect(redact('(415) 555-2671'.repeat(20))).toBe('[REDACTED]');
  });
});

describe('a redactor that fails', () => {
  it('replaces the whole text', () => {
    const fromUntypedCode = redact as (text: unknown) => ReturnType<Redactor>;
    for (const value of [null, undefined, 7, { text: 'a@b.co' }]) {
      expect(fromUntypedCode(value)).toBe('[REDACTED]');
    }
  });
});

describe('patterns of the config', () => {
  const patterns = [
    { name: 'employee_id', regex: '(?<![A-Z])EMP-\\d{4,8}' },
    { name: 'patient', regex: 'patient no\\. (?<value>\\d+)' },
  ];

  it('replace their match, or only its group `value`, with their name', () => {
    const text = createRedactor(patterns)('EMP-12345 saw patient no. 77 (ＥＭＰ－１２３４)');
    expect(text).toBe('[EMPLOYEE_ID] saw patient no. [PATIENT] ([EMPLOYEE_ID])');
  });

  it('never change earlier placeholders, so that redaction is idempotent', () => {
    const greedy = createRedactor([
      { name: 'word', regex: '[A-Za-z]+' },
      { name: 'at', regex: '.(?=@)' },
    ]);
    expect(greedy('mail a@b.co')).toBe('[WORD] [EMAIL]');
    fc.assert(
      fc.property(anyText, (text) => {
        const once = greedy(text);
        expect(greedy(once)).toBe(once);
      }),
    );
  });

  it('that match empty strings do not cause an endless loop', () => {
    const redactor = createRedactor([{ name: 'gap', regex: '(?=😀)|b' }]);
    expect(redactor('😀b😀')).toBe('😀[GAP]😀');
  });

  it.each([
    ['Employee', 'x', 'needs a name of 1 to 32 lower-case letters'],
    ['', 'x', 'needs a name'],
    ['email', 'x', 'has a name that is already in use'],
    ['redacted', 'x', 'has a name that is already in use'],
    ['a', '(', 'cannot be read'],
    ['a', '', 'matches the empty text'],
    ['a', 'x*', 'matches the empty text'],
    ['a', `x{3}${'y'.repeat(500)}`, 'has 504 characters; use at most 500'],
    ['a', '(a+)+b', 'has an unbounded repetition inside a repetition'],
    ['a', '(?:x(a*)y){2,}b', 'has an unbounded repetition inside a repetition'],
    ['a', '(?:[)]\\)a{2,}){5}b', 'has an unbounded repetition inside a repetition'],
  ])('named %j with the expression %j are rejected with a reason', (name, regex, reason) => {
    expect(patternProblems([{ name, regex }])).toEqual([expect.stringContaining(reason)]);
  });

  it.each(['a+b+c', '(?:a{1,9}){2,9}', '(?:a+b)?c', '[(+*]+x', '\\(a+\\)+', '(?:ab)+c', '(?<!a)(b+)c'])(
    'such as %j are accepted',
    (regex) => {
      expect(patternProblems([{ name: 'a', regex }])).toEqual([null]);
    },
  );

  it('need different names', () => {
    const twice = [
      { name: 'a', regex: 'x' },
      { name: 'a', regex: 'y' },
    ];
    expect(patternProblems(twice)).toEqual([null, expect.stringContaining('has a name that is already in use')]);
  });
});

const builtIn = [privateKey, credentials, token, secret, email, iban, card, ip, phone];
const units = ['a', 'e', 'x', '1', '9', '@', '.', ':', '::', '/', '-', '+', '=', '"', '%', '(', ')', 'é', '密码', ' '];

it('built-in detectors have no match shorter than five characters, so that shorter gaps can be skipped', () => {
  const shorter = fc.array(fc.constantFrom(...units), { maxLength: 4 }).map((parts) => parts.join('').slice(0, 4));
  const property = fc.property(shorter, (text) => builtIn.every(({ find }) => find(text).length === 0));
  expect(fc.check(property, { numRuns: 20_000 })).toMatchObject({ failed: false });
});
