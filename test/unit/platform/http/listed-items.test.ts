import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listedItems } from '../../../../src/platform/http/listed-items.ts';

/** Returns the body in pieces of `bytes` bytes. */
function piecesOf(body: string, bytes: number): Buffer[] {
  const whole = Buffer.from(body);
  return Array.from({ length: Math.ceil(whole.length / bytes) }, (_, i) => whole.subarray(i * bytes, (i + 1) * bytes));
}

async function itemsOf(body: string, bytes: number): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const batch of listedItems(piecesOf(body, bytes), 'queries')) items.push(...batch);
  return items;
}

describe('a large body with one list', () => {
  it('is parsed as by JSON.parse, wherever its chunks end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue({ maxDepth: 3 })),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(undefined, 2),
        async (values, bytes, space) => {
          const body = JSON.stringify({ queries: values }, null, space);
          expect(await itemsOf(body, bytes)).toEqual((JSON.parse(body) as { queries: unknown[] }).queries);
        },
      ),
    );
  });

  it.each([
    ['another key', `{"query": [${'1,'.repeat(600)}1]}`],
    ['a second key', '{"queries": [1], "more": 2}'],
    ['a list without its end', '{"queries": [1, 2'],
    ['an empty item', '{"queries": [1,,2]}'],
    ['a comma before the end', '{"queries": [1,]}'],
    ['an item that is not JSON', '{"queries": [{"a" 1}]}'],
    ['text after the end', '{"queries": [1]} and more'],
  ])('with %s is rejected', async (_what, body) => {
    await expect(itemsOf(body, 7)).rejects.toMatchObject({ code: 'body_unreadable' });
  });

  it('releases the chunks that it has read', async () => {
    const pieces = piecesOf(JSON.stringify({ queries: [1, 2, 3] }), 4);
    for await (const _ of listedItems(pieces, 'queries')) break;
    expect(pieces.length).toBeLessThan(5);
  });
});
