import { describe, expect, it } from 'vitest';
import { labelMeanings } from '../../docs/build/label-meanings.ts';
import { jobCatalogue } from '../../src/app/jobs.ts';
import { exitCodeOfKind } from '../../src/cli/exit.ts';
import { type ErrorCode, errorTable, RecalldError } from '../../src/core/errors.ts';
import { cronSchema } from '../../src/platform/config/times.ts';
import { problemOf } from '../../src/platform/http/wire.ts';
import { metricCatalogue } from '../../src/platform/metrics/catalogue.ts';
import type { MetricDefinition } from '../../src/platform/metrics/definition.ts';
import type { JobDefinition } from '../../src/platform/queue/job-queue.ts';
import { sourceFiles } from './source-files.ts';

const src = sourceFiles('src');
const metrics: readonly (MetricDefinition & { readonly name: string })[] = Object.entries<MetricDefinition>(
  metricCatalogue,
).map(([name, definition]) => ({ name, ...definition }));

describe('a metric', () => {
  it.each(metrics)('$name is in snake case and has the recalld prefix', ({ name }) => {
    expect(name).toMatch(/^recalld_[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
  });

  it('has a unique name, including the series that Prometheus adds to a histogram', () => {
    const names = metrics.flatMap(({ name, type }) =>
      type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('ends in _total if and only if it is a counter', () => {
    expect(metrics.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter'))).toEqual([]);
  });

  it('uses base units, which its name states', () => {
    const notBase = /_(ms|milliseconds|micros|nanos|minutes|hours|days|percent|pct|kb|kilobytes|mb|megabytes)(_|$)/;
    const inSeconds = /_(duration|latency|age|interval|timestamp)(_|$)/;
    const wrong = metrics.filter(
      ({ name }) => notBase.test(name) || (inSeconds.test(name) && !/_seconds(_total|_ci_low|_ci_high)?$/.test(name)),
    );
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it('has help text in full sentences', () => {
    const wrong = metrics.filter(({ help }) => !/^[A-Z0-9`].*[a-z0-9)`]\.$/.test(help) || help.includes('\n'));
    expect(wrong.map(({ name, help }) => `${name}: ${help}`)).toEqual([]);
  });

  it('has only labels with few values, never a query, document, user or run', () => {
    const labels = new Set(metrics.flatMap((metric) => metric.labels));
    const unbounded = [...labels].filter((label) => labelMeanings[label] === undefined);
    expect(
      unbounded.map((label) => `say in docs/build/label-meanings.ts what bounds the label ${label}, or drop it`),
    ).toEqual([]);
    expect([...labels].filter((label) => /query|document|user|session|run|text|message|url/.test(label))).toEqual([]);
  });

  it('has each label once and none that is reserved by Prometheus', () => {
    for (const { name, labels } of metrics) {
      expect({ name, labels: [...new Set(labels)] }).toEqual({ name, labels });
      expect(labels).not.toContain('le');
      expect(labels).not.toContain('quantile');
    }
  });

  it('has ascending buckets if and only if it is a histogram', () => {
    for (const { name, type, buckets } of metrics) {
      expect({ name, hasBuckets: buckets !== undefined }).toEqual({ name, hasBuckets: type === 'histogram' });
      const rising = [...new Set(buckets)].toSorted((a, b) => a - b);
      expect(buckets ?? []).toEqual(rising);
    }
  });

  it('is recorded by a process, not read from stored rows, if it is a histogram', () => {
    expect(metrics.filter(({ type, source }) => source === 'stored' && type === 'histogram')).toEqual([]);
  });

  it('is recorded somewhere in the code', () => {
    const code = src
      .filter(({ path }) => !/^src\/(metrics|dashboards)\//.test(path))
      .map(({ text }) => text)
      .join('\n');
    const unwritten = metrics.filter(({ name }) => !isWrittenIn(code, name));
    expect(unwritten.map(({ name }) => name)).toEqual([]);
  });
});

/** The metric names for score bounds and golden scores are composed at run time. */
function isWrittenIn(code: string, name: string): boolean {
  const score = name.replace(/_ci_(low|high)$/, '');
  const hasBounds = `${score}_ci_low` in metricCatalogue && `${score}_ci_high` in metricCatalogue;
  return code.includes(`'${name}'`) || (hasBounds && (score.startsWith('recalld_golden_') || code.includes(score)));
}

describe('a job', () => {
  const jobs: readonly JobDefinition<never>[] = jobCatalogue;

  it('has a unique name that is valid as a queue name', () => {
    const names = jobs.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  it('is enqueued by its definition and never by name, so that each queue has a worker', () => {
    const calls = src
      .filter(({ path }) => !path.startsWith('src/platform/queue/'))
      .flatMap(({ path, text }) => [...text.matchAll(/\benqueue\(\s*([^,)]+)/g)].map(([, job]) => `${path}: ${job}`));
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.filter((call) => !/: \w+\.name$/.test(call))).toEqual([]);
  });

  it.each(jobs)('$name has sensible attempts, timeout and schedule, and a description', (job) => {
    expect(job.does).toMatch(/^[A-Z].*\.$/);
    expect(job.attempts).toBeGreaterThanOrEqual(1);
    expect(job.concurrency).toBeGreaterThanOrEqual(1);
    expect(job.timeoutMs).toBeGreaterThan(0);
    // A longer time would overflow Node.js timers and end the job immediately.
    expect(job.timeoutMs).toBeLessThan(2 ** 31);
    expect(job.cron === null || cronSchema.safeParse(job.cron).success).toBe(true);
  });

  it.each(jobs)('$name rejects a payload with unknown keys, so that no text enters the queue', (job) => {
    expect(job.payload.safeParse({ run_id: 'r', query_id: 'q', text: 'What is my PIN?' }).success).toBe(false);
  });
});

describe('an error code', () => {
  const codes = Object.keys(errorTable) as ErrorCode[];

  it.each(codes)('%s is used in the code', (code) => {
    const users = src.filter(({ path, text }) => path !== 'src/core/errors.ts' && text.includes(`'${code}'`));
    expect(users.map(({ path }) => path)).not.toEqual([]);
  });

  it.each(codes)('%s has a description, an HTTP status and an exit code', (code) => {
    const { kind, meaning } = errorTable[code];
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(meaning).toMatch(/^[A-Z].*\.$/);
    expect(problemOf(code, 'detail')).toMatchObject({
      type: 'about:blank',
      title: meaning,
      code,
      detail: 'detail',
    });
    const { status } = problemOf(code, 'detail');
    expect(status >= 400 && status < 600).toBe(true);
    expect(exitCodeOfKind[kind]).toBeGreaterThan(1);
  });

  it.each(codes)('%s is retried if and only if a service was unavailable', (code) => {
    const error = new RecalldError(code, 'A sentence.', { cause: 'why' });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'RecalldError',
      code,
      message: 'A sentence.',
      cause: 'why',
      kind: errorTable[code].kind,
    });
    expect(error.retryable).toBe(problemOf(code, '').status === 503 && error.kind !== 'interrupted');
  });
});
