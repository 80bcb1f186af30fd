import { describe, expect, it } from 'vitest';
import { type ContextQuery, contextCharacters, repeatedContext } from '../../../../src/live/rules/live-stages.ts';

function queries(count: number, name: string, parts: Partial<ContextQuery>): ContextQuery[] {
  return Array.from({ length: count }, (_, i) => ({ cluster: `${name}${i}`, probability: 1, context: null, ...parts }));
}

describe('the context size', () => {
  // Forty queries have short contexts, and all were sampled; forty have long contexts, and half were sampled; thirty
  // more have no texts.
  const sampled = [
    ...queries(40, 'short', { context: { characters: 1000, repeated: 0 } }),
    ...queries(20, 'long', { probability: 0.5, context: { characters: 4000, repeated: 0.5 } }),
    ...queries(30, 'unknown', {}),
  ];

  it('is a weighted mean over all queries with texts', () => {
    expect(contextCharacters(sampled)).toMatchObject({ value: expect.closeTo(2500, 9) as number, n: 60 });
    expect(repeatedContext(sampled)).toMatchObject({ value: expect.closeTo(0.25, 9) as number, n: 60 });
  });

  it('has a confidence interval that narrows as the number of sessions grows, and is never negative', () => {
    const more = Array.from({ length: 9 }, (_, i) =>
      sampled.map((query) => ({ ...query, cluster: `${query.cluster} ${i}` })),
    ).flat();
    for (const measure of [contextCharacters, repeatedContext]) {
      const [few, many] = [measure(sampled), measure(more)];
      if (few.kind !== 'rate' || many.kind !== 'rate') throw new Error('both must have a rate');
      expect(few.low).toBeLessThan(few.value);
      expect(few.high).toBeGreaterThan(few.value);
      expect((few.high - few.low) / (many.high - many.low)).toBeGreaterThan(2.5);
    }
    const uneven = [
      ...queries(2, 's', { context: { characters: 1, repeated: 0 } }),
      ...queries(1, 'l', { context: { characters: 9000, repeated: 0 } }),
    ];
    expect(contextCharacters(uneven)).toMatchObject({ low: 0 });
  });

  it('is unknown with one session', () => {
    expect(contextCharacters(queries(1, 'a', { context: { characters: 5, repeated: 0 } }))).toMatchObject({
      kind: 'insufficient_data',
    });
  });
});
