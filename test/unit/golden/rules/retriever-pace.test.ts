import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Backoff,
  observeLatency,
  startBackoff,
  WINDOW,
} from '../../../../src/golden/rules/retriever-pace.ts';

const windows = (start: Backoff, ...latencies: readonly number[]): Backoff =>
  latencies
    .flatMap((latency) => Array.from({ length: WINDOW }, () => latency))
    .reduce((backoff, latency) => observeLatency(backoff, latency), start);

describe('the pace of asking', () => {
  it('is halved each time that the retriever takes more than twice as long as usual, down to a quarter', () => {
    const usual = startBackoff(100);
    expect(windows(usual, 201).factor).toBe(0.5);
    expect(windows(usual, 201, 500, 500, 500).factor).toBe(0.25);
  });

  it('comes back step by step when the retriever does', () => {
    const slowed = windows(startBackoff(100), 500, 500);
    expect(windows(slowed, 150).factor).toBe(0.375);
    expect(windows(slowed, 100, 100, 100, 100, 100, 100, 100).factor).toBe(1);
  });

  it('stays between the two, so that it does not swing', () => {
    expect(windows(startBackoff(100), 500, 180, 180).factor).toBe(0.5);
  });

  it('learns what is usual from the first answers when no run has completed before', () => {
    const learned = windows(startBackoff(null), 80);
    expect(learned).toMatchObject({ factor: 1, reference: 80 });
    expect(windows(learned, 161).factor).toBe(0.5);
  });

  it('lets a single slow answer pass, and a quick retriever that is a few milliseconds slower', () => {
    const one = [...Array.from({ length: WINDOW - 1 }, () => 100), 60_000];
    expect(one.reduce((backoff, latency) => observeLatency(backoff, latency), startBackoff(100)).factor).toBe(
      1,
    );
    expect(windows(startBackoff(2), 15).factor).toBe(1);
  });

  it('is always between a quarter and the whole, whatever the latencies', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 400 }), (latencies) => {
        const { factor } = latencies.reduce(
          (backoff, latency) => observeLatency(backoff, latency),
          startBackoff(50),
        );
        expect(factor).toBeGreaterThanOrEqual(0.25);
        expect(factor).toBeLessThanOrEqual(1);
      }),
    );
  });
});
