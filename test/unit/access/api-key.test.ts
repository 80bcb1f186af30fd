import { expect, it } from 'vitest';
import { allows, apiScopes } from '../../../src/access/api-keys.ts';

it.each(apiScopes)('a key with scope %s may do what needs it', (scope) => {
  expect(allows([scope], scope)).toBe(true);
});

it('an admin key may do everything, and no other key may do what it was not given', () => {
  expect(apiScopes.every((scope) => allows(['admin'], scope))).toBe(true);
  expect(allows(['ingest'], 'read')).toBe(false);
  expect(allows(['ingest', 'read'], 'admin')).toBe(false);
  expect(allows([], 'read')).toBe(false);
});
