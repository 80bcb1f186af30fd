import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { numberedPageShape, sliceAt } from '../../../../src/platform/http/fields.ts';

it('pages of a list contain each item once, in order, and no page exceeds its limit', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 20 }), (list, limit) => {
      const seen: number[] = [];
      let cursor: string | undefined;
      do {
        const page = sliceAt(list, { limit, cursor });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        seen.push(...page.items);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
      expect(seen).toEqual(list);
    }),
  );
});

it('a cursor after the end returns an empty page', () => {
  expect(sliceAt([1, 2], { limit: 5, cursor: '9' })).toEqual({ items: [], next_cursor: null });
});

it.each(['-1', '1.5', 'x', '9'.repeat(16), ''])('a cursor that this API did not issue is rejected: %j', (cursor) => {
  expect(z.strictObject(numberedPageShape).safeParse({ cursor }).success).toBe(false);
});
