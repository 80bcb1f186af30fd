/** Cron expressions as users might write them, many of them wrong. */
import * as fc from 'fast-check';

/** Strings that users might write in one field, with values within and outside the allowed range. */
function aField(most: number, names: readonly string[] = []): fc.Arbitrary<string> {
  const value = fc.oneof(
    { weight: 6, arbitrary: fc.nat(most + 1).map(String) },
    { weight: 1, arbitrary: fc.constantFrom(...names, '0') },
  );
  const step = fc.integer({ min: 0, max: 20 });
  const item = fc.oneof(
    { weight: 4, arbitrary: fc.constant('*') },
    { weight: 3, arbitrary: value },
    fc.tuple(value, value).map(([from, to]) => `${from}-${to}`),
    step.map((by) => `*/${by}`),
    fc.tuple(value, value, step).map(([from, to, by]) => `${from}-${to}/${by}`),
    fc.tuple(value, step).map(([from, by]) => `${from}/${by}`),
    fc.constantFrom('L', '?', 'H', '1W'),
  );
  return fc.array(item, { minLength: 1, maxLength: 2 }).map((items) => items.join(','));
}

export const aCronExpression = fc
  .tuple(aField(59), aField(23), aField(31), aField(12, ['jan', 'DEC']), aField(7, ['mon', 'SUN']), fc.boolean())
  .map(([minute, hour, day, month, weekday, byWeekday]) =>
    [minute, hour, byWeekday ? '*' : day, month, byWeekday ? weekday : '*'].join(' '),
  );
