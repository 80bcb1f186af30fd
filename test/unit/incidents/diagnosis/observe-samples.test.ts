import { describe, expect, it } from 'vitest';
import { observeOwnWork, observeSamples } from '../../../../src/incidents/diagnosis/observe.ts';
import { NOON } from '../../../support/builders.ts';
import { aMeasurement, hours, latestAt } from '../../../support/measurements.ts';

const measured = (measure: string, n: number) =>
  aMeasurement({ measure, n, windowStart: hours(-1), windowEnd: NOON, measuredAt: NOON });

describe('the sample of a sign', () => {
  it('starts with the window of its measure, and has its n', () => {
    const samples = observeSamples(latestAt(NOON, measured('index_missing_ratio', 200)));
    expect(samples).toEqual({ index_documents: { from: hours(-1), n: 200 } });
  });

  it('starts a day ago for rare probes that are pooled over a day', () => {
    const samples = observeSamples(latestAt(NOON, measured('index_not_retrievable_ratio', 8)));
    expect(samples).toEqual({ index_retrieval: { from: hours(-24), n: 8 } });
  });

  it('is null if the store was counted', () => {
    expect(observeSamples(latestAt(NOON, measured('store_vectors', 1))).store_size?.n).toBeNull();
  });

  it('is the smaller one if a sign has two measures', () => {
    const both = [measured('index_orphaned_ratio', 900), measured('index_superseded_ratio', 40)];
    expect(observeSamples(latestAt(NOON, ...both)).index_orphans?.n).toBe(40);
  });
});

it('treats recalld as starved if its event loop was blocked for a tenth of the run', () => {
  const run = { outcomes: { ok: 40, empty: 0, error: 0, timeout: 0 } };
  const ended = { status: 'completed' } as Parameters<typeof observeOwnWork>[2];
  const facts = { latest: [], intervalSeconds: () => null };
  const workOf = (lateShare: number | null, queuedShare: number | null = null) =>
    observeOwnWork(facts, run, ended, { now: NOON, lateShare, queuedShare });
  expect(workOf(0.1)).toEqual({ kind: 'starved', lateShare: 0.1, queuedShare: 0 });
  expect(workOf(0.01, 0.6)).toEqual({ kind: 'starved', lateShare: 0.01, queuedShare: 0.6 });
  expect(workOf(0.01, 0.3)).toEqual({ kind: 'done' });
  expect(workOf(0.09)).toEqual({ kind: 'done' });
  expect(workOf(null)).toEqual({ kind: 'done' });
});
