import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guardCell, unguardCell } from '../../../../src/golden/rules/spreadsheet-cell.ts';

describe('a cell of a CSV file', () => {
  it.each(['=HYPERLINK("http://a.test")', '+1', '-1', '@SUM(A1)', '\t=1', "'=1"])(
    'is never a formula to a spreadsheet: %j',
    (text) => {
      expect(guardCell(text)).toBe(`'${text}`);
    },
  );

  it('is unchanged when it starts with a letter', () => {
    expect(guardCell("What's = here?")).toBe("What's = here?");
  });

  it('is read back unchanged', () => {
    const text = fc.oneof(
      fc.string(),
      fc.tuple(fc.stringMatching(/^[='+@\t-]{0,4}$/), fc.string()).map(([head, tail]) => head + tail),
    );
    fc.assert(
      fc.property(text, (original) => {
        expect(unguardCell(guardCell(original))).toBe(original);
      }),
    );
  });
});
