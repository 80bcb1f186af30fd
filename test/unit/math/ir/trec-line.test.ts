import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ColumnScanner, parseGrade, parseScore } from '../../../../src/math/ir/trec-line.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function score(text: string): number {
  const bytes = bytesOf(`x ${text} x`);
  return parseScore(bytes, 2, bytes.length - 2);
}

function grade(text: string): number {
  const bytes = bytesOf(`x ${text} x`);
  return parseGrade(bytes, 2, bytes.length - 2);
}

/** Returns, for each line of a text, its columns and the count that the scanner returned. */
function scanAll(
  text: string,
  separator: 'blanks' | 'tabs' = 'blanks',
  room = 6,
): { columns: string[]; count: number }[] {
  const bytes = bytesOf(text);
  const scanner = new ColumnScanner(room, separator);
  const lines = [];
  for (let next = 0; next < bytes.length; ) {
    next = scanner.scan(bytes, next);
    const columns = Array.from({ length: Math.min(room, Math.max(0, scanner.count)) }, (_, i) =>
      new TextDecoder().decode(bytes.subarray(scanner.starts[i], scanner.ends[i])),
    );
    lines.push({ columns, count: scanner.count });
  }
  return lines;
}

describe('ColumnScanner', () => {
  it.each([
    ['single spaces', 'q1 Q0 d1', ['q1', 'Q0', 'd1']],
    ['tabs, runs of blanks, form feeds', '  q1\t \tQ0\v\fd1  ', ['q1', 'Q0', 'd1']],
    ['a carriage return before the line feed', 'q1 d1\r', ['q1', 'd1']],
    ['letters of more than one byte, and a no-break space', 'é 😀 a\u00a0b', ['é', '😀', 'a\u00a0b']],
    ['a line of blanks', ' \t\r', []],
  ])('finds columns: %s', (_what, line, columns) => {
    const expected = { columns, count: columns.length };
    expect(scanAll(`${line}\n`)).toEqual([expected]);
    expect(scanAll(`${line}\n${line}\n`)).toEqual([expected, expected]);
    expect(scanAll(line)).toEqual([expected]);
  });

  it('finds no columns in an empty line', () => {
    expect(scanAll('\n\n')).toEqual([
      { columns: [], count: 0 },
      { columns: [], count: 0 },
    ]);
  });

  it('counts columns beyond its capacity', () => {
    expect(scanAll('a b c d', 'blanks', 2)).toEqual([{ columns: ['a', 'b'], count: 4 }]);
  });

  it('reports a carriage return inside a line', () => {
    expect(scanAll('q1 d1\rq2 d2\nq3 d3').map((line) => line.count)).toEqual([-1, 2]);
  });

  it('splits by tabs only if requested, so that columns may contain spaces', () => {
    expect(scanAll('a b\tc  d\t1\r\n', 'tabs')).toEqual([{ columns: ['a b', 'c  d', '1'], count: 3 }]);
  });
});

describe('parseScore', () => {
  it.each([
    ['1', 1],
    ['1.0', 1],
    ['1e0', 1],
    ['+1', 1],
    ['-0.0', -0],
    ['0.1', 0.1],
    ['0.10000000000000001', 0.1],
    ['0.1000000000000000055', 0.1],
    ['0.10000000149011612', 0.10000000149011612],
    ['16777217', 16777217],
    ['1e-300', 1e-300],
    ['1e-400', 0],
    ['1.5E+2', 150],
    ['149.99999999999997', 149.99999999999997],
    ['0.30000000000000004', 0.30000000000000004],
    ['.5', 0.5],
    ['-.5', -0.5],
    ['5.', 5],
    ['00012.50', 12.5],
    ['9007199254740993', 9007199254740992],
  ])('reads %s as atof does', (text, value) => {
    expect(score(text)).toBe(value);
  });

  it.each([
    '',
    '+',
    '-',
    '.',
    '+-1',
    '1.2.3',
    '1e',
    '1e+',
    'e5',
    '0x10',
    '0b1',
    '1_000',
    '1,5',
    'nan',
    'NaN',
    'inf',
    '-Infinity',
    '1e400',
    '１',
    'abc',
    '1.5x',
    `1.${'0'.repeat(2000)}x`,
  ])('rejects %j', (text) => {
    expect(score(text)).toBeNaN();
  });

  it('rounds long decimals as atof does, even at or near the midpoint of two doubles', () => {
    const digits = fc.stringMatching(/^[0-9]{0,22}$/);
    const anyDecimal = fc.tuple(digits, digits).map(([whole, rest]) => `${whole}0.${rest}`);
    const nearMiddle = fc
      .tuple(fc.bigInt({ min: 2n ** 53n, max: 2n ** 62n }), fc.integer({ min: -1, max: 1 }), fc.nat(22))
      .map(([bits, off, decimals]) => {
        const middle = (bits & ~1023n) + 512n + BigInt(off);
        const text = String(middle).padStart(decimals + 1, '0');
        return decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
      });
    fc.assert(
      fc.property(fc.oneof(anyDecimal, nearMiddle), (text) => {
        expect(score(text)).toBe(Number(text));
        expect(score(`-${text}`)).toBe(-Number(text));
      }),
      { numRuns: 3000 },
    );
  });

  it('reads every double in its shortest and in fixed-point notation', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(12), (value, decimals) => {
        expect(score(String(value))).toBe(Object.is(value, -0) ? 0 : value);
        const fixed = value.toFixed(decimals);
        expect(score(fixed)).toBe(Number(fixed));
      }),
    );
  });
});

describe('parseGrade', () => {
  it.each([
    ['0', 0],
    ['1', 1],
    ['+3', 3],
    ['-1', -1],
    ['-0', 0],
    ['007', 7],
    ['1e1', 10],
    ['3.0', 3],
    ['1.', 1],
    ['-2.00', -2],
    ['true', 1],
    ['No', 0],
    ['999999999999999', 999999999999999],
  ])('reads %s', (text, value) => {
    expect(grade(text)).toBe(value);
  });

  it.each(['', '-', '+', '1.7', '1e-1', '0x1', 'one', '1-', '--1', '1234567890123456', '²'])('rejects %j', (text) => {
    expect(grade(text)).toBeNaN();
  });
});
