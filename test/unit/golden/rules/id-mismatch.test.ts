import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  describeIdDifference,
  differenceInWords,
  idsAlike,
  shownIds,
} from '../../../../src/golden/rules/id-mismatch.ts';

describe('the difference between judged ids and returned ids', () => {
  it.each([
    [['Doc-1'], ['doc-1'], ['case']],
    [['a%20b.pdf'], ['a b.pdf'], ['percent-encoding']],
    [['a+b'], ['a b'], ['percent-encoding']],
    [['caf\u00e9'], ['cafe\u0301'], ['their Unicode normal form (NFC, NFD)']],
    [['\uff11\uff12'], ['12'], ['compatibility characters of Unicode']],
    [['d\u200b1'], ['d1'], ['invisible characters']],
    [['"d1"'], ['d1'], ['quotation marks']],
    [['two words'], ['twowords'], ['white space']],
    [['d 1'], ['d\u00a01'], ['compatibility characters of Unicode']],
    [['12.0'], ['12'], ['a trailing .0']],
    [['0012'], ['12'], ['leading zeros']],
    [['2b7c-11aa'], ['2B7C11AA'], ['case', 'hyphens and underscores']],
    [
      ['kb/Doc-1', 'kb/Doc-2'],
      ['doc-1', 'doc-2'],
      ['case', 'the prefix "kb/"'],
    ],
    [['intro.md'], ['intro'], ['the suffix ".md"']],
    [['doc-1'], ['doc-1#3'], ['the suffix "#3"']],
    [['doc1'], ['1'], ['the prefix "doc"']],
    [['old/intro.md'], ['new/intro.md'], ['the prefix ("old", "new")']],
    [['x'], ['y'], []],
  ])('is found between %j and %j', (judged, returned, differences) => {
    expect(describeIdDifference(judged, returned)).toEqual({ judged: judged[0], returned: returned[0], differences });
  });

  it('is the most common one of several, with each judged id counted once', () => {
    const judged = ['Unrelated', 'A1', 'B1', 'C1'];
    const returned = ['x-unrelated', 'a1', 'b1', 'c1', 'C-1'];
    expect(idsAlike(judged, returned)).toEqual({
      count: 3,
      pair: { judged: 'A1', returned: 'a1', differences: ['case'] },
    });
  });

  it('is described in words', () => {
    expect(differenceInWords([])).toBe('have nothing in common');
    expect(differenceInWords(['case'])).toBe('differ in case');
    expect(differenceInWords(['case', 'quotation marks', 'zeros'])).toBe('differ in case, quotation marks and zeros');
  });

  it('is visible even if two ids look the same, and control characters are escaped', () => {
    expect(shownIds('caf\u00e9', 'cafe\u0301')).toEqual(['"caf\\u{00E9}"', '"cafe\\u{0301}"']);
    expect(shownIds('\u001b[31m', 'd\u200b1')).toEqual(['"\\u001b[31m"', '"d\\u{200B}1"']);
  });

  it('is illustrated with a judged and a returned id, whatever the ids contain', () => {
    const ids = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(ids, ids, (judged, returned) => {
        const found = describeIdDifference(judged, returned);
        expect(judged).toContain(found.judged);
        expect(returned).toContain(found.returned);
      }),
    );
  });
});
