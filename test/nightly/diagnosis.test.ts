import { expect, it } from 'vitest';
import { measureDiagnosis, totalOf } from '../../bench/diagnosis.ts';

it('in worlds of every third kind of fault, at least 75 % of diagnoses are right and at most 10 % are wrong', {
  timeout: 60_000,
}, async () => {
  const { kinds } = await measureDiagnosis(true, 1, () => undefined);
  expect(totalOf(kinds, 'wrong') / totalOf(kinds, 'draws')).toBeLessThanOrEqual(0.1);
  expect(totalOf(kinds, 'right') / totalOf(kinds, 'draws')).toBeGreaterThanOrEqual(0.75);
});
