import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/core/system-clock.ts';
import { observeOwnWork, observeSamples } from '../../../../src/incidents/diagnosis/observe.ts';
import { createLagHistory } from '../../../../src/platform/threads/lag-history.ts';
import { NOON } from '../../../support/builders.ts';
import { aMeasurement, hours, latestAt } from '../../../support/measurements.ts';

const measured = (measure: string, n: number) =>
  aMeasurement({ measure, n, windowStart: hours(-1), windowEnd: NOON, measuredAt: NOON });

describe('the sample of a sign', () => {
  it('starts with the window of its measure, and has the same n', () => {
    const samples = observeSamples(latestAt(NOON, measured('index_missing_ratio', 200)));
    expect(samples).toEqual({ index_documents: { from: hours(-1), n: 200 } });
  });

  it('starts a day ago for rare probes that are pooled over a day', () => {
    const samples = observeSamples(latestAt(NOON, measured('index_not_retrievable_ratio', 8)));
    expect(samples).toEqual({ index_retrieval: { from: hours(-24), n: 8 } });
  });

  it('has no size if the store was counted', () => {
    expect(observeSamples(latestAt(NOON, measured('store_vectors', 1))).store_size?.n).toBeNull();
  });

  it('is the smaller of two if a sign has two measures', () => {
    const both = [measured('index_orphaned_ratio', 900), measured('index_superseded_ratio', 40)];
    expect(observeSamples(latestAt(NOON, ...both)).index_orphans?.n).toBe(40);
  });
});

it('treats recalld as starved if its event loop was blocked for a tenth of the run, or its processors were busy for half of it', () => {
  const run = { outcomes: { ok: 40, empty: 0, error: 0, timeout: 0 } };
  const ended = { status: 'completed', startedAt: NOON, finishedAt: NOON } as Parameters<typeof observeOwnWork>[2];
  const facts = { latest: [], intervalSeconds: () => null };
  const workOf = (...delays: readonly (readonly [seconds: number, queued: number])[]) => {
    const lag = createLagHistory({ ...systemClock, now: () => NOON }, 0.1);
    for (const [seconds, queued] of delays) lag.record(seconds, queued);
    return observeOwnWork(facts, run, ended, lag, NOON)?.kind;
  };
  const calm = [0, 0] as const;
  expect(workOf(calm, calm, [0.1, 0])).toBe('starved');
  expect(workOf([0.06, 0], ...Array.from({ length: 9 }, () => calm))).toBe('done');
  expect(workOf([0, 3], calm)).toBe('starved');
  expect(workOf([0, 3], calm, calm)).toBe('done');
  expect(workOf()).toBe('done');
  expect(observeOwnWork(facts, run, ended, null, NOON)).toEqual({ kind: 'done' });
});
