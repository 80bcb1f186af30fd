import { describe, expect, it } from 'vitest';
import {
  completedFingerprint,
  knownDifferences,
  measurementFingerprint,
} from '../../../../src/density/rules/measurement-change.ts';

const index = {
  kind: 'pgvector',
  metric: 'cosine',
  dimensions: '384',
  index: 'hnsw',
  m: '16',
  size_class: '13',
};
const embedder = { identity: 'openai small', dimensions: '384', canary: 'steady' };
const before = measurementFingerprint({ index, embedder });

describe('the measurement fingerprint', () => {
  it.each([
    ['another embedding model', { index, embedder: { ...embedder, identity: 'other' } }, ['embeddingModel']],
    ['changed vectors of the same model', { index, embedder: { ...embedder, canary: 'moved' } }, ['embeddingRevision']],
    ['another dimension', { index: { ...index, dimensions: '768' }, embedder }, ['dimension']],
    ['changed settings of the index', { index: { ...index, m: '32' }, embedder }, ['indexType']],
    ['another metric', { index: { ...index, metric: 'dot' }, embedder }, ['metric']],
  ])('changes with %s', (_name, parts, changed) => {
    expect(knownDifferences(before, measurementFingerprint(parts))).toEqual(changed);
  });

  it('changes if scores used five chunks before, as in older versions', () => {
    expect(knownDifferences({ ...before, k: '5', scoreField: '' }, before)).toEqual(['k']);
  });

  it('is the same if chunks are added or removed', () => {
    const smaller = measurementFingerprint({ index: { ...index, size_class: '12' }, embedder });
    expect(knownDifferences(before, smaller)).toEqual([]);
  });

  it('does not count as changed if it was unknown', () => {
    const unknown = measurementFingerprint({ index: null, embedder: null });
    expect(knownDifferences(unknown, before)).toEqual([]);
    expect(knownDifferences(before, unknown)).toEqual([]);
    expect(completedFingerprint(unknown, before)).toEqual(before);
    expect(completedFingerprint(before, unknown)).toEqual(before);
  });
});
