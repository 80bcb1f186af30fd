import { describe, expect, it } from 'vitest';
import { newRunId } from '../../../../src/golden/runs/start-golden-run.ts';

describe('the id of a run', () => {
  it('tells its time, and is short enough to type', () => {
    expect(newRunId(new Date('2026-11-20T15:45:00.123Z'))).toMatch(/^20261120T154500Z-[0-9a-f]{8}$/);
  });

  it('sorts by time', () => {
    const ids = [9, 10, 11].map((hour) => newRunId(new Date(Date.UTC(2026, 0, 1, hour))));
    expect(ids.toSorted()).toEqual(ids);
  });

  it('differs for two runs of the same second', () => {
    const now = new Date('2026-11-20T15:45:00Z');
    expect(new Set(Array.from({ length: 100 }, () => newRunId(now))).size).toBe(100);
  });
});
