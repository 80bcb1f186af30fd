import { describe, expect, it } from 'vitest';
import type { LiveStage } from '../../../../src/live/rules/live-query.ts';
import { measureStages } from '../../../../src/live/rules/live-stages.ts';

function aStage(name: string, parts: Partial<LiveStage> = {}): LiveStage {
  return { name, isSide: false, latencyMs: null, documents: 10, ranks: [1, 2], ...parts };
}

/** Queries of separate sessions, all sampled. */
function queries(count: number, stagesOf: (index: number) => readonly LiveStage[], probability = 1) {
  return Array.from({ length: count }, (_, index) => ({
    cluster: `${probability} ${index}`,
    probability,
    stages: stagesOf(index),
  }));
}

const measured = (...groups: readonly ReturnType<typeof queries>[]) =>
  Object.fromEntries(measureStages(groups.flat()).map((stage) => [stage.name, stage]));

describe('the stages of live queries', () => {
  it('are empty when no query reports stages', () => {
    expect(measureStages(queries(30, () => []))).toEqual([]);
  });

  it('have a weighted 95th percentile of their latency', () => {
    const timed = (ms: number) => [aStage('rerank', { latencyMs: ms })];
    const slow = queries(10, () => timed(900));
    const { rerank } = measured(
      queries(90, (index) => timed(index)),
      slow,
    );
    expect(rerank?.latencyP95Ms?.value).toBe(900);
    // Each fast query was sampled with probability 0.1, so it represents ten queries.
    const weighted = measured(
      queries(90, (index) => timed(index), 0.1),
      slow,
    );
    expect(weighted['rerank']?.latencyP95Ms?.value).toBe(86);
    expect(weighted['rerank']?.latencyP95Ms?.ciLow).toBeLessThan(86);
    expect(weighted['rerank']?.latencyP95Ms?.ciHigh).toBeGreaterThan(86);
  });

  it('have no 95th percentile with fewer than twenty latencies', () => {
    const { rerank, fuse } = measured(queries(19, () => [aStage('rerank', { latencyMs: 5 }), aStage('fuse')]));
    expect(rerank).toMatchObject({ n: 19, timed: 19, latencyP95Ms: null });
    expect(fuse).toMatchObject({ timed: 0, latencyP95Ms: null });
  });

  it('count as emptied if they return no documents although the previous stage, if any, returned some', () => {
    const stages = (found: number, left: number) => [
      aStage('candidates', { documents: found, ranks: [] }),
      aStage('filtered', { documents: left, ranks: [] }),
    ];
    const { candidates, filtered } = measured(
      queries(40, (index) => (index < 8 ? stages(0, 0) : index < 20 ? stages(30, 0) : stages(30, 10))),
    );
    expect(candidates).toMatchObject({ emptied: { value: 0.2 }, documents: { value: 24 }, answered: null });
    expect(filtered).toMatchObject({ emptied: { value: 0.3 }, documents: { value: 5 } });
    expect(filtered?.emptied?.ciLow).toBeGreaterThan(0.15);
    expect(filtered?.emptied?.ciHigh).toBeLessThan(0.5);
  });

  it('that run in parallel count as emptied independently of each other', () => {
    const side = (name: string, documents: number) => aStage(name, { isSide: true, documents });
    const { words, vectors, fused } = measured(
      queries(30, () => [side('words', 0), side('vectors', 5), aStage('fused', { documents: 0 })]),
    );
    expect([words, vectors, fused].map((stage) => stage?.emptied?.value)).toEqual([1, 0, 1]);
  });

  it('report the share of final results that were already among their top documents', () => {
    const { candidates, reranked } = measured(
      queries(30, (index) => [
        aStage('candidates', { ranks: index % 2 === 0 ? [1, 2, 3, 4] : [1, 9, null, 17] }),
        aStage('reranked', { ranks: [1, 2, 3, 4] }),
      ]),
    );
    expect(candidates).toMatchObject({ answered: { value: 0.625 } });
    expect(reranked).toMatchObject({ answered: { value: 1, ciHigh: 1 } });
  });

  it('are limited to the twelve most frequent stages, in the order in which they run', () => {
    const many = Array.from({ length: 14 }, (_, index) => queries(2 + index, () => [aStage(`stage ${index}`)]));
    const names = measureStages([...many.flat(), ...queries(9, () => [aStage('first'), aStage('stage 13')])]).map(
      ({ name }) => name,
    );
    expect(names).toHaveLength(12);
    expect(names.slice(0, 2)).toEqual(['first', 'stage 13']);
    expect(names).not.toContain('stage 0');
  });
});
