import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import { groupBySegment, OTHER_SEGMENT } from '../../../../src/golden/rules/golden-set.ts';
import { aGoldenQuery } from '../../../support/builders.ts';

/** One query for each set of tags. */
function tagged(...tags: readonly GoldenQuery['tags'][]): GoldenQuery[] {
  return tags.map((queryTags, index) => aGoldenQuery({ id: `q${index}`, tags: queryTags }));
}

describe('the segments of a golden set', () => {
  it('are one per value of each key, largest first, ties by name', () => {
    const queries = tagged({ lang: 'fr' }, { lang: 'en', tenant: 'b' }, { lang: 'en', tenant: 'a' }, {});
    expect(groupBySegment(queries, ['lang', 'tenant'], 10)).toEqual({
      segments: [
        { name: 'lang=en', members: [1, 2] },
        { name: 'lang=fr', members: [0] },
        { name: 'tenant=a', members: [2] },
        { name: 'tenant=b', members: [1] },
      ],
      overflow: 0,
    });
  });

  it('are empty without keys, whatever the tags', () => {
    expect(groupBySegment(tagged({ lang: 'fr' }), [], 10)).toEqual({ segments: [], overflow: 0 });
  });

  it('omit queries without the tag', () => {
    expect(groupBySegment(tagged({}, { other: 'x' }), ['lang'], 10).segments).toEqual([]);
  });

  it('remain unchanged when they just fit within the maximum', () => {
    const { segments, overflow } = groupBySegment(tagged({ lang: 'fr' }, { lang: 'en' }), ['lang'], 2);
    expect(segments.map(({ name }) => name)).toEqual(['lang=en', 'lang=fr']);
    expect(overflow).toBe(0);
  });

  it('above the maximum are reduced to the largest, and the others are counted and merged into `other`', () => {
    const queries = tagged({ lang: 'de' }, { lang: 'en' }, { lang: 'en' }, { lang: 'fr' }, { lang: 'es' });
    expect(groupBySegment(queries, ['lang'], 2)).toEqual({
      segments: [
        { name: 'lang=en', members: [1, 2] },
        { name: 'lang=de', members: [0] },
        { name: OTHER_SEGMENT, members: [3, 4] },
      ],
      overflow: 2,
    });
  });

  it('contain a query once in `other` even when two of its segments were merged', () => {
    const queries = tagged({ lang: 'en' }, { lang: 'en' }, { lang: 'fr', tenant: 'a' });
    expect(groupBySegment(queries, ['lang', 'tenant'], 1).segments.at(-1)).toEqual({
      name: OTHER_SEGMENT,
      members: [2],
    });
  });

  it('never exceed the maximum by more than `other`, and together contain every tagged query', () => {
    const tags = fc.record(
      { lang: fc.constantFrom('en', 'fr', 'de', 'es'), tenant: fc.constantFrom('a', 'b', 'c') },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(tags, { maxLength: 30 }), fc.integer({ min: 1, max: 8 }), (list, max) => {
        const queries = tagged(...list);
        const { segments, overflow } = groupBySegment(queries, ['lang', 'tenant'], max);
        expect(segments.length).toBeLessThanOrEqual(max + (overflow > 0 ? 1 : 0));
        for (const { members } of segments) expect(new Set(members).size).toBe(members.length);
        const tagless = queries.filter((query) => Object.keys(query.tags).length === 0).length;
        expect(new Set(segments.flatMap(({ members }) => members)).size).toBe(queries.length - tagless);
      }),
    );
  });
});
