import { expect, it } from 'vitest';
import { measureDiagnosis, totalOf } from '../../bench/diagnosis.ts';

it('one world of every third kind is diagnosed with similar accuracy', { timeout: 60_000 }, async () => {
  const { kinds } = await measureDiagnosis(true, 1, () => undefined);
  expect(totalOf(kinds, 'wrong') / totalOf(kinds, 'draws')).toBeLessThanOrEqual(0.1);
  expect(totalOf(kinds, 'right') / totalOf(kinds, 'draws')).toBeGreaterThanOrEqual(0.75);
});
