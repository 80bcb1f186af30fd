import { describe, expect, it } from 'vitest';
import { levelOf, verdictOnArm, verdictOnShadow } from '../../../../src/experiments/rules/verdict.ts';

describe('the verdict on a shadow', () => {
  it('is a regression if any golden set shows one, and an improvement only if no golden set is inconclusive', () => {
    expect(verdictOnShadow(['improvement', 'regression', 'inconclusive'], null)).toBe('regression');
    expect(verdictOnShadow(['improvement', 'inconclusive'], null)).toBe('inconclusive');
    expect(verdictOnShadow(['improvement', 'no_change', 'no_data'], null)).toBe('improvement');
    expect(verdictOnShadow([], null)).toBe('no_data');
  });

  it('counts judged live queries when they are decisive, and when there is no golden set', () => {
    expect(verdictOnShadow(['improvement'], 'inconclusive')).toBe('improvement');
    expect(verdictOnShadow(['improvement'], 'regression')).toBe('regression');
    expect(verdictOnShadow(['no_change'], 'improvement')).toBe('improvement');
    expect(verdictOnShadow(['inconclusive'], 'improvement')).toBe('inconclusive');
    expect(verdictOnShadow([], 'inconclusive')).toBe('inconclusive');
  });
});

it('reports a regression of an arm if any measure regresses, and an improvement even if other measures are inconclusive', () => {
  expect(verdictOnArm(['improvement', 'regression'])).toBe('regression');
  expect(verdictOnArm(['inconclusive', 'improvement', 'no_data'])).toBe('improvement');
  expect(verdictOnArm(['no_change', 'inconclusive'])).toBe('inconclusive');
});

it('divides the false positive rate evenly among all comparisons', () => {
  expect(levelOf(4) * 4).toBeCloseTo(0.01, 12);
  expect(levelOf(0)).toBe(0.01);
});
