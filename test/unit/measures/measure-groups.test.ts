import { describe, expect, it } from 'vitest';
import { measureTable } from '../../../src/measures/rules/measure-table.ts';
import { isOverviewSeries, measureGroup, measureGroups } from '../../../src/measures/shown-measures.ts';

describe('measureGroup', () => {
  it.each([
    ['error_ratio', 'Live'],
    ['feedback_positive_ratio', 'Live'],
    ['query_uncovered_ratio', 'Coverage'],
    ['repeat_density', 'Coverage'],
    ['live_hit_rate', 'Judged'],
    ['episode_retrievals', 'Agent'],
    ['index_missing_ratio', 'Index'],
    ['store_vectors', 'Store and embedder'],
    ['embedding_canary_median', 'Store and embedder'],
    ['retriever_latency_p95_seconds', 'Golden'],
    ['rbo', 'Golden'],
  ])('finds %s under %s', (measure, group) => {
    expect(measureGroup(measure)).toBe(group);
  });

  it('assigns measures of the table to every group except that of agents', () => {
    const used = new Set(Object.keys(measureTable).map(measureGroup));
    expect(measureGroups.filter((group) => !used.has(group) && group !== 'Agent')).toEqual([]);
  });
});

it('shows golden sets in the overview, but no segments of live traffic', () => {
  const segments = ['all', 'golden_set=faq', 'course=even'];
  expect(segments.filter((segment) => isOverviewSeries({ segment }))).toEqual(['all', 'golden_set=faq']);
});
