import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueryOutcome } from '../../../../src/core/model.ts';
import {
  type LiveMeasure,
  type LiveMeasureOutcome,
  liveMeasures,
  liveSegments,
  measureSegment as measuresOf,
  type SampledQuery,
  type WindowTraits,
  withArrivals,
} from '../../../../src/live/rules/live-measures.ts';
import { aBaselineCtr, NOON } from './feedback/builders.ts';

/** A query in its own session, sent a day before noon and sampled with certainty, with ten documents and no click. */
function aQuery(parts: Partial<SampledQuery> = {}): SampledQuery {
  return {
    cluster: 's1',
    probability: 1,
    shown: 10,
    clickedRanks: [],
    occurredAtMs: NOON.getTime() - 86_400_000,
    outcome: 'ok',
    tags: {},
    context: null,
    latencyMs: null,
    stages: [],
    ...parts,
  };
}

function queries(count: number, parts: (index: number) => Partial<SampledQuery>): SampledQuery[] {
  return Array.from({ length: count }, (_, index) => aQuery({ cluster: `s${index}`, ...parts(index) }));
}

function traits(parts: Partial<WindowTraits> = {}): WindowTraits {
  return { isComplete: false, clicksCompleteUntilMs: NOON.getTime(), baselineCtr: null, hasClicks: true, ...parts };
}

function measureSegment(sampled: readonly SampledQuery[], window: WindowTraits): LiveMeasureOutcome[] {
  return [...measuresOf(sampled, window)];
}

function find(outcomes: readonly LiveMeasureOutcome[], measure: LiveMeasure): LiveMeasureOutcome | undefined {
  return outcomes.find((outcome) => outcome.measure === measure);
}

describe('the measures of live traffic', () => {
  it('return the 95th percentile of the reported latencies, including those of failed queries', () => {
    const timed = queries(100, (i) => ({ latencyMs: 10 * (i + 1), outcome: i === 94 ? 'timeout' : 'ok' }));
    const outcome = find(measureSegment([...timed, ...queries(50, () => ({}))], traits()), 'latency_p95_seconds');
    expect(outcome).toMatchObject({ kind: 'value', value: 0.95, n: 100 });
    expect(outcome?.kind === 'value' && outcome.ciLow > 0.8 && outcome.ciLow < 0.95).toBe(true);
  });

  it('have no latency if fewer than twenty queries report one', () => {
    const latencyOf = (sampled: readonly SampledQuery[]) =>
      find(measureSegment(sampled, traits()), 'latency_p95_seconds');
    expect(latencyOf([])).toMatchObject({ kind: 'no_data', reason: 'no_queries' });
    expect(latencyOf(queries(30, () => ({})))).toMatchObject({ kind: 'no_data', reason: 'no_latencies' });
    expect(latencyOf(queries(19, () => ({ latencyMs: 5 })))).toMatchObject({
      kind: 'no_data',
      reason: 'too_few_sessions',
    });
  });

  it('weight each sample by the number of queries that it represents', () => {
    // A tenth of the 1000 good queries, all 100 empty queries and all 50 failed queries were sampled.
    const sampled = [
      ...queries(100, () => ({ probability: 0.1 })),
      ...queries(100, (i) => ({ cluster: `e${i}`, outcome: 'empty', shown: 0 })),
      ...queries(25, (i) => ({ cluster: `f${i}`, outcome: 'error', shown: 0 })),
      ...queries(25, (i) => ({ cluster: `t${i}`, outcome: 'timeout', shown: 0 })),
    ];
    const outcomes = measureSegment(sampled, traits());
    expect(find(outcomes, 'queries')).toMatchObject({ value: expect.closeTo(1150, 6), n: 250 });
    expect(find(outcomes, 'zero_results_ratio')).toMatchObject({
      value: expect.closeTo(100 / 1150, 9),
      n: 250,
    });
    expect(find(outcomes, 'error_ratio')).toMatchObject({ value: expect.closeTo(50 / 1150, 9), n: 250 });
  });

  it('have the same confidence interval whether all or half of the traffic was sampled', () => {
    const whole = queries(50, (i) => ({ outcome: i < 5 ? 'empty' : 'ok' }));
    const boundsOf = (sampled: readonly SampledQuery[], isComplete: boolean) => {
      const outcome = find(measureSegment(sampled, traits({ isComplete })), 'zero_results_ratio');
      if (outcome?.kind !== 'value') throw new Error('it is known');
      expect(outcome.value).toBeCloseTo(0.1, 12);
      return [outcome.ciLow, outcome.ciHigh] as const;
    };
    const [low, high] = boundsOf(whole, true);
    expect(low).toBeLessThan(0.06);
    expect(high).toBeGreaterThan(0.19);
    const drawn = whole.map((query) => ({ ...query, probability: 0.5 }));
    expect(boundsOf(drawn, false)).toEqual([expect.closeTo(low, 9), expect.closeTo(high, 9)]);
  });

  it('have a precision that depends on the number of sessions, not of queries', () => {
    const highOf = (sessions: number) => {
      const asked = queries(60, (i) => ({ cluster: `s${i % sessions}`, outcome: i % sessions === 0 ? 'error' : 'ok' }));
      const outcome = find(measureSegment(asked, traits({ isComplete: true })), 'error_ratio');
      return outcome?.kind === 'value' ? outcome.ciHigh : null;
    };
    expect(highOf(10)).toBeGreaterThan(0.35);
  });

  it('measure how often and at which rank users click, over queries whose clicks are complete', () => {
    const complete = queries(40, (i) => ({ clickedRanks: i % 4 === 0 ? [2, 12] : [], shown: 20 }));
    const fresh = queries(40, (i) => ({ cluster: `new${i}`, occurredAtMs: NOON.getTime() }));
    const outcomes = measureSegment([...complete, ...fresh], traits());
    expect(find(outcomes, 'click_through_ratio')).toMatchObject({ value: expect.closeTo(0.025, 9), n: 40 });
    expect(find(outcomes, 'clicked_query_ratio')).toMatchObject({ value: 0.25, n: 40 });
    expect(find(outcomes, 'clicked_reciprocal_rank')).toMatchObject({ value: 0.5, n: 10 });
    expect(find(outcomes, 'queries')).toMatchObject({ kind: 'no_data' });
  });

  it('compare clicks with the clicks expected at the same ranks', () => {
    const clicked = queries(100, (i) => ({ clickedRanks: i % 10 === 0 ? [1] : [], shown: 1 }));
    const outcomes = measureSegment(clicked, traits({ baselineCtr: aBaselineCtr([0.2, 0.1]) }));
    expect(find(outcomes, 'clicks_over_expected_ratio')).toMatchObject({
      value: expect.closeTo(0.5, 9),
      n: 100,
    });
  });

  it.each<[string, SampledQuery[], Partial<WindowTraits>, Partial<Record<LiveMeasure, string>>]>([
    [
      'an empty window',
      [],
      {},
      { queries: 'no_queries', error_ratio: 'no_queries', click_through_ratio: 'no_queries' },
    ],
    [
      'a service that sends no clicks',
      queries(20, () => ({})),
      { hasClicks: false },
      { click_through_ratio: 'no_clicks', clicks_over_expected_ratio: 'no_clicks' },
    ],
    [
      'a pipeline without a baseline',
      queries(20, () => ({ clickedRanks: [1] })),
      {},
      { clicks_over_expected_ratio: 'no_baseline' },
    ],
    [
      'failures alone, out of an unknown number of queries',
      queries(5, () => ({ outcome: 'error' })),
      {},
      { queries: 'too_few_sessions', error_ratio: 'too_few_sessions' },
    ],
    [
      'a single session',
      queries(9, () => ({ cluster: 'one', probability: 0.5, clickedRanks: [1] })),
      {},
      { error_ratio: 'too_few_sessions', click_through_ratio: 'too_few_sessions' },
    ],
  ])('report a reason if there is no data: %s', (_what, sampled, parts, reasons) => {
    const outcomes = measureSegment(sampled, traits(parts));
    for (const [measure, reason] of Object.entries(reasons)) {
      expect(find(outcomes, measure as LiveMeasure)).toEqual({ kind: 'no_data', measure, reason });
    }
  });

  it('always have a finite value within a finite confidence interval, or no data', () => {
    const query = fc.record({
      cluster: fc.nat(6),
      probability: fc.constantFrom(1, 0.5, 0.1, 1e-6),
      shown: fc.nat(12),
      clickedRanks: fc.uniqueArray(fc.integer({ min: 1, max: 12 })),
      outcome: fc.constantFrom<QueryOutcome>('ok', 'empty', 'error', 'timeout'),
      occurredAtMs: fc.constantFrom(NOON.getTime() - 1, NOON.getTime()),
    });
    fc.assert(
      fc.property(fc.array(query, { maxLength: 30 }), fc.boolean(), (sampled, hasBaseline) => {
        const clean = sampled.map(({ shown, clickedRanks, ...rest }) =>
          aQuery({
            ...rest,
            shown,
            clickedRanks: clickedRanks.filter((rank) => rank <= shown).toSorted((a, b) => a - b),
          }),
        );
        const baselineCtr = hasBaseline ? aBaselineCtr([0.3, 0.1]) : null;
        const outcomes = measureSegment(clean, traits({ baselineCtr }));
        expect(outcomes.map(({ measure }) => measure)).toEqual(liveMeasures);
        for (const outcome of outcomes) {
          if (outcome.kind === 'no_data') continue;
          const { value, ciLow, ciHigh } = outcome;
          expect([value, ciLow, ciHigh].every(Number.isFinite)).toBe(true);
          expect(ciLow).toBeLessThanOrEqual(value);
          expect(ciHigh).toBeGreaterThanOrEqual(value);
          expect(ciLow).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});

describe('the segments of live traffic', () => {
  it('are all queries, each of the largest segments, and one segment for the rest', () => {
    const sampled = ['en', 'en', 'en', 'de', 'de', 'fr', 'it'].map((lang) => aQuery({ tags: { lang } }));
    const segments = liveSegments([...sampled, aQuery()], ['lang'], 2);
    expect(segments.map((segment) => [segment.name, segment.queries.length])).toEqual([
      ['all', 8],
      ['lang=en', 3],
      ['lang=de', 2],
      ['other', 2],
    ]);
  });
});

describe('counted arrivals', () => {
  const none = { kind: 'no_data', measure: 'error_ratio', reason: 'no_queries' } as const;

  it('replace the estimated volume of all traffic', () => {
    const estimate = {
      kind: 'value',
      measure: 'queries',
      value: 80,
      ciLow: 60,
      ciHigh: 100,
      ciMethod: 'x',
      n: 8,
    } as const;
    expect(withArrivals(estimate, 119)).toMatchObject({ value: 119, ciLow: 119, ciHigh: 119, n: 119 });
    expect(withArrivals({ ...none, measure: 'queries' }, 119)).toMatchObject({ kind: 'value', value: 119 });
    expect(withArrivals(estimate, 0)).toEqual(estimate);
  });

  it('distinguish a window without samples from one without queries', () => {
    expect(withArrivals(none, 119)).toEqual({ ...none, reason: 'none_sampled' });
    expect(withArrivals(none, 0)).toEqual(none);
    expect(withArrivals({ ...none, reason: 'no_clicks' }, 119)).toEqual({ ...none, reason: 'no_clicks' });
  });
});
