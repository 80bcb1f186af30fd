import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Backoff,
  observeLatency,
  shareOf,
  startBackoff,
  WINDOW,
} from '../../../../src/connectors/throttle/backoff.ts';

const windows = (start: Backoff, ...latencies: readonly number[]): Backoff =>
  latencies
    .flatMap((latency) => Array.from({ length: WINDOW }, () => latency))
    .reduce((backoff, latency) => observeLatency(backoff, latency), start);

describe('the adaptive rate', () => {
  it('is halved each time the retriever takes more than twice as long as usual, down to a quarter', () => {
    const usual = startBackoff(100);
    expect(windows(usual, 201).factor).toBe(0.5);
    expect(windows(usual, 201, 500, 500, 500).factor).toBe(0.25);
  });

  it('rises step by step when the retriever recovers', () => {
    const slowed = windows(startBackoff(100), 500, 500);
    expect(windows(slowed, 150).factor).toBe(0.375);
    expect(windows(slowed, 100, 100, 100, 100, 100, 100, 100).factor).toBe(1);
  });

  it('does not change at latencies in between, to avoid oscillation', () => {
    expect(windows(startBackoff(100), 500, 180, 180).factor).toBe(0.5);
  });

  it('learns the usual latency from the first answers if no run has completed before', () => {
    const learned = windows(startBackoff(null), 80);
    expect(learned).toMatchObject({ factor: 1, reference: 80 });
    expect(windows(learned, 161).factor).toBe(0.5);
  });

  it('tolerates a single slow answer, and a fast retriever that is a few milliseconds slower', () => {
    const one = [...Array.from({ length: WINDOW - 1 }, () => 100), 60_000];
    expect(one.reduce((backoff, latency) => observeLatency(backoff, latency), startBackoff(100)).factor).toBe(1);
    expect(windows(startBackoff(2), 15).factor).toBe(1);
  });

  it('is always between a quarter and 1, whatever the latencies', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 400 }), (latencies) => {
        const { factor } = latencies.reduce((backoff, latency) => observeLatency(backoff, latency), startBackoff(50));
        expect(factor).toBeGreaterThanOrEqual(0.25);
        expect(factor).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('the share of the concurrency limit', () => {
  it('is the whole limit for a single process', () => {
    expect(shareOf({ concurrency: 4, using: 0, others: [], rank: 0 })).toEqual({ slots: 4, counted: 4 });
  });

  it('is 0 while another process uses the whole limit, and half once the other process has reduced its use', () => {
    expect(shareOf({ concurrency: 4, using: 0, others: [4], rank: 1 })).toEqual({ slots: 0, counted: 0 });
    expect(shareOf({ concurrency: 4, using: 4, others: [0], rank: 0 })).toEqual({ slots: 2, counted: 4 });
    expect(shareOf({ concurrency: 4, using: 2, others: [0], rank: 0 })).toEqual({ slots: 2, counted: 2 });
    expect(shareOf({ concurrency: 4, using: 0, others: [2], rank: 1 })).toEqual({ slots: 2, counted: 2 });
  });

  it('gives the remainder to the first processes, and at least one slot to each process if possible', () => {
    const ranks = [0, 1, 2].map((rank) => shareOf({ concurrency: 4, using: 0, others: [0, 0], rank }).slots);
    expect(ranks).toEqual([2, 1, 1]);
    expect(shareOf({ concurrency: 1, using: 1, others: [0, 0], rank: 2 }).slots).toBe(1);
  });

  it('never lets all processes together exceed the limit, in whatever order the processes renew their shares', () => {
    const anyStep = fc.record({ who: fc.nat(4), inFlight: fc.nat(10) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(anyStep, { maxLength: 60 }), (concurrency, steps) => {
        const counted = [0, 0, 0, 0, 0];
        const allowed = [0, 0, 0, 0, 0];
        const inFlight = [0, 0, 0, 0, 0];
        for (const step of steps) {
          const { who } = step;
          // In the meantime, this process started or ended some calls, within its limit.
          inFlight[who] = Math.min(step.inFlight, Math.max(inFlight[who] ?? 0, allowed[who] ?? 0));
          const using = Math.max(allowed[who] ?? 0, inFlight[who] ?? 0);
          const others = counted.filter((_, index) => index !== who);
          const share = shareOf({ concurrency, using, others, rank: who });
          counted[who] = share.counted;
          allowed[who] = share.slots;
          expect(counted.reduce((sum, slots) => sum + slots, 0)).toBeLessThanOrEqual(concurrency);
        }
      }),
    );
  });
});
