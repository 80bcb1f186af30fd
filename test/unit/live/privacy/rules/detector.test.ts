import { describe, expect, it } from 'vitest';
import { findByRules } from '../../../../../src/live/privacy/rules/detector.ts';

describe('the matches of several rules', () => {
  it('are merged where they overlap', () => {
    const rules = [{ pattern: /bcd/gu }, { pattern: /cdef/gu }, { pattern: /d/gu }, { pattern: /gh/gu }];
    expect(findByRules('abcdefgh', rules)).toEqual([
      { start: 1, end: 6 },
      { start: 6, end: 8 },
    ]);
  });

  it('are narrowed to the group `value`', () => {
    expect(findByRules('id 77, id 8', [{ pattern: /id (?<value>\d+)/dgu }])).toEqual([
      { start: 3, end: 5 },
      { start: 10, end: 11 },
    ]);
  });

  it('are searched again inside a rejected match only if the rule retries', () => {
    const rule = { pattern: /\d{1,3}/gu, accepts: (value: string) => value.startsWith('2') };
    expect(findByRules('123', [rule])).toEqual([]);
    expect(findByRules('123', [{ ...rule, retries: true }])).toEqual([{ start: 1, end: 3 }]);
  });

  it('do not depend on earlier uses of a pattern', () => {
    const rules = [{ pattern: /a/gu }];
    expect(findByRules('aa', rules)).toEqual(findByRules('aa', rules));
  });

  it('contain no empty match, even before a surrogate pair', () => {
    expect(findByRules('😀b😀', [{ pattern: /(?=😀)|b/gu }])).toEqual([{ start: 2, end: 3 }]);
  });
});
