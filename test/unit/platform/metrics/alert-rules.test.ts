import { describe, expect, it } from 'vitest';
import { anyCountedBy, increaseBy, maxBy, observedBy, series } from '../../../../src/platform/metrics/alert-rules.ts';

describe('a PromQL expression', () => {
  it('matches one label value, several values, or all values except a pattern', () => {
    expect(series('recalld_check_state', { state: 'critical' })).toBe('recalld_check_state{state="critical"}');
    expect(series('recalld_check_state', { state: ['ok', 'warning'] })).toBe(
      'recalld_check_state{state=~"ok|warning"}',
    );
    expect(series('recalld_check_state', { check: { differsFrom: 'stale .*' } })).toBe(
      'recalld_check_state{check!~"stale .*"}',
    );
  });

  it('quotes characters that would end a string', () => {
    expect(series('recalld_golden_runs', { golden_set: 'a"b\\c' })).toBe(
      String.raw`recalld_golden_runs{golden_set="a\"b\\c"}`,
    );
  });

  it('does not compile with a metric or label that is not in the catalogue', () => {
    // @ts-expect-error no such metric
    expect(series('recalld_nothing')).toBe('recalld_nothing');
    // @ts-expect-error no such label
    expect(series('recalld_check_state', { query: 'x' })).toContain('query');
    // @ts-expect-error no such value
    expect(series('recalld_check_state', { state: 'red' })).toContain('red');
    // @ts-expect-error a gauge has no rate
    expect(increaseBy(['pipeline'], 'recalld_check_state', '1h')).toContain('increase');
    // @ts-expect-error a counter differs between replicas
    expect(maxBy(['pipeline'], 'recalld_queries_total')).toContain('max');
  });

  it('finds the bucket of a histogram whether Prometheus writes 1 or 1.0', () => {
    const by = ['pipeline'] as const;
    expect(observedBy(by, 'recalld_query_latency_seconds', '5m', {}, 1)).toBe(
      String.raw`sum by (pipeline) (rate(recalld_query_latency_seconds_bucket{le=~"1(\\.0)?"}[5m]))`,
    );
    expect(observedBy(by, 'recalld_query_latency_seconds', '5m', {}, 0.5)).toContain('{le="0.5"}');
  });

  it('counts the first event of a counter that appears with this event', () => {
    expect(anyCountedBy(['task'], 'recalld_jobs_total', '1h', { outcome: 'dead' })).toContain(
      'unless recalld_jobs_total{outcome="dead"} offset 1h and on () recalld_build_info offset 1h',
    );
  });
});
