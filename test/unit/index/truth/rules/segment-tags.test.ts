import { expect, it } from 'vitest';
import { segmentTags } from '../../../../../src/index/truth/rules/findings.ts';

it('converts a segment to the tags of a query', () => {
  expect(segmentTags('tenant=acme=1')).toEqual({ tenant: 'acme=1' });
  expect(segmentTags(null)).toEqual({});
});
