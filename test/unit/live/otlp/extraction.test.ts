import { describe, expect, it } from 'vitest';
import { pack, unpackEach } from '../../../../src/live/item-batches.ts';
import { inBatches } from '../../../../src/live/otlp/extraction.ts';
import { aLiveQuery } from '../../../support/builders.ts';

const queries = (count: number, text: string) =>
  Array.from({ length: count }, (_, i) => aLiveQuery({ id: `q${i}`, text }));

describe('what was found in a large body', () => {
  it('is cut into parts that hold everything once, in its order', () => {
    const found = { queries: queries(1000, 'why?'), fragments: [], feedback: [] };
    const parts = inBatches(found);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flatMap((part) => part.queries)).toEqual(found.queries);
    expect([...unpackEach(parts.map(pack))]).toEqual(parts);
  });

  it('is cut finer when its texts are long', () => {
    const parts = inBatches({ queries: queries(140, 'a'.repeat(100_000)), fragments: [], feedback: [] });
    const characters = parts.map((part) => part.queries.reduce((sum, { text }) => sum + (text?.length ?? 0), 0));
    expect(Math.max(...characters)).toBeLessThanOrEqual(3_000_000);
  });

  it('is one part when it is little', () => {
    expect(inBatches({ queries: queries(3, 'why?'), fragments: [], feedback: [] })).toHaveLength(1);
    expect(inBatches({ queries: [], fragments: [], feedback: [] })).toEqual([]);
  });
});
