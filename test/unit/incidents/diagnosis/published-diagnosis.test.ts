import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type DiagnosisResult, totalOf } from '../../../../bench/diagnosis.ts';

/** Asserts the accuracy that docs/explanation/diagnosis-accuracy.md documents. */
function expectPromised({ kinds, levels }: DiagnosisResult): void {
  const faults = kinds.filter(({ isQuiet }) => !isQuiet);
  expect(totalOf(kinds, 'wrong') / totalOf(kinds, 'draws'), 'wrong').toBeLessThanOrEqual(0.05);
  expect(totalOf(faults, 'unknown') / totalOf(faults, 'draws'), 'unknown').toBeLessThanOrEqual(0.2);
  const [high, medium, low] = levels;
  expect((high?.right ?? 0) / (high?.named ?? 0), 'high').toBeGreaterThanOrEqual(0.95);
  expect((medium?.right ?? 0) / (medium?.named ?? 0), 'medium').toBeGreaterThanOrEqual(0.75);
  expect(low?.stated, 'low').toBeLessThan(medium?.stated ?? 0);
}

it('the measured diagnoses meet the documented accuracy', () => {
  const file = path.resolve(import.meta.dirname, '../../../../bench/results/diagnosis.json');
  const result = JSON.parse(readFileSync(file, 'utf8')) as DiagnosisResult;
  expectPromised(result);
  expect(result.kinds.filter(({ isQuiet }) => !isQuiet).length).toBeGreaterThanOrEqual(30);
  for (const { draws } of result.kinds) expect(draws).toBeGreaterThanOrEqual(10);
});
