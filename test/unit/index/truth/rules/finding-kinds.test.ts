import { expect, it } from 'vitest';
import { findingWords, namedKinds } from '../../../../../src/index/truth/rules/findings.ts';

it('has words for every kind', () => {
  expect(Object.keys(findingWords)).toEqual([...namedKinds]);
});
