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
  it.each(metrics)('$name has a name in snake case under our prefix', ({ name }) => {
    expect(name).toMatch(/^recalld_[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
  });

  it('has a name of its own, also with what Prometheus adds to a histogram', () => {
    const names = metrics.flatMap(({ name, type }) =>
      type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('ends in _total when it is a counter, and only then', () => {
    expect(metrics.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter'))).toEqual([]);
  });

  it('is in base units, which its name tells', () => {
    const notBase = /_(ms|milliseconds|micros|nanos|minutes|hours|days|percent|pct|kb|kilobytes|mb|megabytes)(_|$)/;
    const inSeconds = /_(duration|latency|age|interval|timestamp)(_|$)/;
    const wrong = metrics.filter(
      ({ name }) => notBase.test(name) || (inSeconds.test(name) && !/_seconds(_total|_ci_low|_ci_high)?$/.test(name)),
    );
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it('says what it means in sentences', () => {
    const wrong = metrics.filter(({ help }) => !/^[A-Z0-9`].*[a-z0-9)`]\.$/.test(help) || help.includes('\n'));
    expect(wrong.map(({ name, help }) => `${name}: ${help}`)).toEqual([]);
  });

  it('has only labels of few values, never a query, document, user or run', () => {
    const labels = new Set(metrics.flatMap((metric) => metric.labels));
    const unbounded = [...labels].filter((label) => labelMeanings[label] === undefined);
    expect(
      unbounded.map((label) => `say in docs/build/label-meanings.ts what bounds the label ${label}, or drop it`),
    ).toEqual([]);
    expect([...labels].filter((label) => /query|document|user|session|run|text|message|url/.test(label))).toEqual([]);
  });

  it('has each label once and none that Prometheus keeps for itself', () => {
    for (const { name, labels } of metrics) {
      expect({ name, labels: [...new Set(labels)] }).toEqual({ name, labels });
      expect(labels).not.toContain('le');
      expect(labels).not.toContain('quantile');
    }
  });

  it('has buckets that rise when it is a histogram, and only then', () => {
    for (const { name, type, buckets } of metrics) {
      expect({ name, hasBuckets: buckets !== undefined }).toEqual({ name, hasBuckets: type === 'histogram' });
      const rising = [...new Set(buckets)].toSorted((a, b) => a - b);
      expect(buckets ?? []).toEqual(rising);
    }
  });

  it('is observed by a process when it is a histogram: stored rows are shown as they are', () => {
    expect(metrics.filter(({ type, source }) => source === 'stored' && type === 'histogram')).toEqual([]);
  });

  it('is written somewhere', () => {
    const code = src
      .filter(({ path }) => !/^src\/(metrics|dashboards)\//.test(path))
      .map(({ text }) => text)
      .join('\n');
    const unwritten = metrics.filter(({ name }) => !isWrittenIn(code, name));
    expect(unwritten.map(({ name }) => name)).toEqual([]);
  });
});

/** Bounds of a score are written by a name that is put together, as are golden scores. */
function isWrittenIn(code: string, name: string): boolean {
  const score = name.replace(/_ci_(low|high)$/, '');
  const hasBounds = `${score}_ci_low` in metricCatalogue && `${score}_ci_high` in metricCatalogue;
  return code.includes(`'${name}'`) || (hasBounds && (score.startsWith('recalld_golden_') || code.includes(score)));
}

describe('a job', () => {
  const jobs: readonly JobDefinition<never>[] = jobCatalogue;

  it('has a name of its own that may name a queue', () => {
    const names = jobs.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  it('is enqueued by its definition and never by a name in the code, so that each queue has its worker', () => {
    const calls = src
      .filter(({ path }) => !path.startsWith('src/platform/queue/'))
      .flatMap(({ path, text }) => [...text.matchAll(/\benqueue\(\s*([^,)]+)/g)].map(([, job]) => `${path}: ${job}`));
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.filter((call) => !/: \w+\.name$/.test(call))).toEqual([]);
  });

  it.each(jobs)('$name is tried, timed and scheduled with sense, and says what it does', (job) => {
    expect(job.does).toMatch(/^[A-Z].*\.$/);
    expect(job.attempts).toBeGreaterThanOrEqual(1);
    expect(job.concurrency).toBeGreaterThanOrEqual(1);
    expect(job.timeoutMs).toBeGreaterThan(0);
    // A longer time would overflow the timers of Node and end the job at once.
    expect(job.timeoutMs).toBeLessThan(2 ** 31);
    expect(job.cron === null || cronSchema.safeParse(job.cron).success).toBe(true);
  });

  it.each(jobs)('$name refuses a payload with more than it knows, so that no text slips into the queue', (job) => {
    expect(job.payload.safeParse({ run_id: 'r', query_id: 'q', text: 'What is my PIN?' }).success).toBe(false);
  });
});

describe('an error code', () => {
  const codes = Object.keys(errorTable) as ErrorCode[];

  it.each(codes)('%s is met somewhere in the code', (code) => {
    const users = src.filter(({ path, text }) => path !== 'src/core/errors.ts' && text.includes(`'${code}'`));
    expect(users.map(({ path }) => path)).not.toEqual([]);
  });

  it.each(codes)('%s says what it means and has an HTTP status and an exit code', (code) => {
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

  it.each(codes)('%s is retried when a service was away, and then alone', (code) => {
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
