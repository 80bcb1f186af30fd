import { describe, expect, it } from 'vitest';
import { durationMs, durationSchema } from '../../../../src/platform/config/times.ts';

describe('a duration', () => {
  it.each([
    ['5m', 300_000],
    ['90m', 5_400_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
  ])('of %s is %i ms', (text, ms) => {
    expect(durationSchema('1m', '31d').parse(text)).toBe(text);
    expect(durationMs(text)).toBe(ms);
  });

  it.each(['', '0h', '24', 'h', '1.5h', '-1h', '1w', '24 h', '24H', '9999999m'])('is not %j', (text) => {
    const { error } = durationSchema('1m', '31d').safeParse(text);
    expect(error?.issues.map(({ message }) => message)).toEqual([
      'must be a number of minutes, hours or days, such as 30m, 24h or 7d',
    ]);
  });

  it.each(['4m', '32d', '769h'])('is rejected outside its range: %s', (text) => {
    const { error } = durationSchema('5m', '31d').safeParse(text);
    expect(error?.issues.map(({ message }) => message)).toEqual(['must be from 5m to 31d']);
  });
});
