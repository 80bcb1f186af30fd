import { describe, expect, it } from 'vitest';
import { limitMetrics } from '../../../../src/platform/metrics/limit-metrics.ts';

const text = (parts: readonly Buffer[]): string => Buffer.concat(parts.map((part) => Buffer.from(part))).toString();

const page = [
  `# HELP recalld_build_info Always 1.
# TYPE recalld_build_info gauge
recalld_build_info{version="1",nodejs="v22"} 1

# HELP recalld_jobs_total Jobs.
# TYPE recalld_jobs_total counter
recalld_jobs_total{task="a",outcome="completed"} 7
process_cpu_seconds_total 3
`,
  `
# HELP recalld_query_latency_seconds Latency.
# TYPE recalld_query_latency_seconds histogram
recalld_query_latency_seconds_bucket{le="1",pipeline="docs"} 2
recalld_query_latency_seconds_sum{pipeline="docs"} 1.5
recalld_query_latency_seconds_sum{pipeline="docs~new"} 1.5
recalld_query_latency_seconds_sum{pipeline="docs2"} 9
recalld_query_latency_seconds_sum{pipeline="wiki"} 9

# HELP recalld_normal_range Range.
# TYPE recalld_normal_range gauge
recalld_normal_range{pipeline="wiki"} 9
`,
].map((part) => Buffer.from(part));

describe('metrics for a key of one pipeline', () => {
  it('contain the series of the pipeline and its shadows, and shared metrics, each with its help and type', async () => {
    expect(text(await limitMetrics(page, ['docs']))).toBe(`# HELP recalld_build_info Always 1.
# TYPE recalld_build_info gauge
recalld_build_info{version="1",nodejs="v22"} 1
# HELP recalld_query_latency_seconds Latency.
# TYPE recalld_query_latency_seconds histogram
recalld_query_latency_seconds_bucket{le="1",pipeline="docs"} 2
recalld_query_latency_seconds_sum{pipeline="docs"} 1.5
recalld_query_latency_seconds_sum{pipeline="docs~new"} 1.5
`);
  });

  it('contain only shared metrics for a pipeline without series', async () => {
    const lines = text(await limitMetrics(page, ['none'])).split('\n');
    expect(lines.filter((line) => /^\w/.test(line))).toEqual(['recalld_build_info{version="1",nodejs="v22"} 1']);
  });

  it.each([
    String.raw`recalld_golden_ndcg{segment="a,pipeline=\"docs\"",pipeline="wiki"} 1`,
    String.raw`recalld_golden_ndcg{segment="x\\",pipeline="wiki"} 1`,
    `recalld_golden_ndcg{segment="pipeline=",k="docs",pipeline="wiki"} 1`,
    `recalld_golden_ndcg{segment="} docs",pipeline="wiki"} 1`,
  ])('ignore a segment value that looks like a label: %s', async (line) => {
    expect(text(await limitMetrics([Buffer.from(`${line}\n`)], ['docs']))).toBe('');
    expect(text(await limitMetrics([Buffer.from(`${line}\n`)], ['wiki']))).toBe(`${line}\n`);
  });
});
