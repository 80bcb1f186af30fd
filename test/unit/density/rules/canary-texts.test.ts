import { expect, it } from 'vitest';
import { canaryTexts } from '../../../../src/density/rules/embedding-canary.ts';

it('are twenty different texts that no edit changes unseen', () => {
  expect(new Set(canaryTexts).size).toBe(20);
  expect(canaryTexts).toMatchSnapshot();
});
