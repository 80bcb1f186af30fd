import { describe, expect, it } from 'vitest';
import { inParts } from '../../../../src/live/otlp/extraction.ts';
import { eachUnpacked, pack } from '../../../../src/live/parts.ts';
import { aLiveQuery } from '../../../support/builders.ts';

const queries = (count: number, text: string) =>
  Array.from({ length: count }, (_, i) => aLiveQuery({ id: `q${i}`, text }));

describe('what was found in a large body', () => {
  it('is cut into parts that hold everything once, in its order', () => {
    const found = { queries: queries(1000, 'why?'), fragments: [], feedback: [] };
    const parts = inParts(found);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flatMap((part) => part.queries)).toEqual(found.queries);
    expect([...eachUnpacked(parts.map(pack))]).toEqual(parts);
  });

  it('is cut finer when its texts are long', () => {
    const parts = inParts({ queries: queries(140, 'a'.repeat(100_000)), fragments: [], feedback: [] });
    const characters = parts.map((part) => part.queries.reduce((sum, { text }) => sum + (text?.length ?? 0), 0));
    expect(Math.max(...characters)).toBeLessThanOrEqual(3_000_000);
  });

  it('is one part when it is little', () => {
    expect(inParts({ queries: queries(3, 'why?'), fragments: [], feedback: [] })).toHaveLength(1);
    expect(inParts({ queries: [], fragments: [], feedback: [] })).toEqual([]);
  });
});
