import { describe, expect, it } from 'vitest';
import { hasVersion, isSuperseded } from '../../../../../src/index/truth/rules/findings.ts';

const chunk = (version: string | null, content: string | null = null) => ({ version, content });
const words = (from: number, count: number): string =>
  Array.from({ length: count }, (_, place) => `w${from + place}`).join(' ');

describe('isSuperseded', () => {
  it('compares the versions of the chunks if there are any', () => {
    expect(isSuperseded([chunk('1'), chunk('1')], null)).toBe(false);
    expect(isSuperseded([chunk('1'), chunk('2')], null)).toBe(true);
    expect(isSuperseded([chunk('1'), chunk(null)], null)).toBe(false);
  });

  it('compares the number of chunks with the manifest', () => {
    expect(isSuperseded([chunk(null), chunk(null)], 1)).toBe(true);
    expect(isSuperseded([chunk(null), chunk(null)], 2)).toBe(false);
    expect(isSuperseded([chunk('1'), chunk('2')], 2)).toBe(true);
  });

  it('compares texts as a last resort, and tolerates overlapping windows', () => {
    const half = [chunk(null, words(0, 200)), chunk(null, words(100, 200))];
    expect(isSuperseded(half, null)).toBe(false);
    const edited = [chunk(null, words(0, 200)), chunk(null, `${words(0, 190)} other end`)];
    expect(isSuperseded(edited, null)).toBe(true);
    const headings = [chunk(null, 'Chapter one'), chunk(null, 'Chapter one')];
    expect(isSuperseded(headings, null)).toBe(false);
  });

  it('is unknown for several chunks without version, number and text', () => {
    expect(isSuperseded([chunk(null), chunk(null)], null)).toBeNull();
    expect(isSuperseded([chunk(null)], null)).toBe(false);
  });
});

describe('hasVersion', () => {
  it('matches a hash exactly and a time to the second, in any notation', () => {
    expect(hasVersion([chunk('abc')], 'abc')).toBe(true);
    expect(hasVersion([chunk('abd'), chunk(null)], 'abc')).toBe(false);
    expect(hasVersion([chunk('2026-01-31T13:00:00+01:00')], '2026-01-31T12:00:00.4Z')).toBe(true);
    expect(hasVersion([chunk('2026-01-31T12:00:02Z')], '2026-01-31T12:00:00Z')).toBe(false);
    expect(hasVersion([chunk('2026')], '2026-01-01T00:00:00Z')).toBe(false);
  });
});
