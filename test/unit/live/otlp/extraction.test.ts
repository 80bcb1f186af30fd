import { describe, expect, it } from 'vitest';
import { pack, unpackEach } from '../../../../src/live/item-batches.ts';
import { inBatches } from '../../../../src/live/otlp/extraction.ts';
import { aLiveQuery } from '../../../support/builders.ts';

const queries = (count: number, text: string) =>
  Array.from({ length: count }, (_, i) => aLiveQuery({ id: `q${i}`, text }));

describe('the items of a request body', () => {
  it('are split, if there are many, into batches that contain each item once and in order', () => {
    const found = { queries: queries(1000, 'why?'), fragments: [], feedback: [] };
    const parts = inBatches(found);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flatMap((part) => part.queries)).toEqual(found.queries);
    expect([...unpackEach(parts.map(pack))]).toEqual(parts);
  });

  it('are split into smaller batches when texts are long', () => {
    const parts = inBatches({ queries: queries(140, 'a'.repeat(100_000)), fragments: [], feedback: [] });
    const characters = parts.map((part) => part.queries.reduce((sum, { text }) => sum + (text?.length ?? 0), 0));
    expect(Math.max(...characters)).toBeLessThanOrEqual(3_000_000);
  });

  it('form one batch if they are few, and no batch if there are none', () => {
    expect(inBatches({ queries: queries(3, 'why?'), fragments: [], feedback: [] })).toHaveLength(1);
    expect(inBatches({ queries: [], fragments: [], feedback: [] })).toEqual([]);
  });
});
