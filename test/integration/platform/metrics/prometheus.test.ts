import { spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Clock } from '../../../../src/core/time.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { createMeasurements } from '../../../../src/measures/measurements.ts';
import { metricCatalogue } from '../../../../src/platform/metrics/catalogue.ts';
import { type GaugeSample, sample } from '../../../../src/platform/metrics/meter.ts';
import { createExporter, type Exporter, type ExporterSettings } from '../../../../src/platform/metrics/prometheus.ts';
import { createPool } from '../../../../src/platform/postgres/pool.ts';
import { openJobQueue } from '../../../../src/platform/queue/bullmq.ts';
import { readStoredGauges } from '../../../../src/report/status/publish.ts';
import { aWatchedPipeline } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, createRun, minutes, nine } from '../../../support/golden-runs.ts';
import { recordLog, silentLogger } from '../../../support/log.ts';
import { startTcpGate } from '../../../support/tcp-gate.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** A clock that a test advances. */
function aClock(start = nine): Clock & { advance(seconds: number): void } {
  let ms = start.getTime();
  return {
    now: () => new Date(ms),
    monotonicMs: () => ms,
    sleep: async () => {},
    advance: (seconds) => {
      ms += seconds * 1000;
    },
  };
}

/** An exporter that returns text. */
interface TextExporter extends Omit<Exporter, 'scrape'> {
  scrape(): Promise<string>;
  /** Returns a scrape made after a new read of the stored rows has succeeded or failed. */
  freshScrape(): Promise<string>;
}

function asText(exporter: Exporter): TextExporter {
  onTestFinished(() => exporter.close());
  const scrape = async (): Promise<string> => Buffer.concat(await exporter.scrape()).toString('utf8');
  const freshScrape = async (): Promise<string> => {
    await exporter.refresh();
    return scrape();
  };
  return { ...exporter, scrape, freshScrape };
}

function anExporter(
  read: () => Promise<readonly GaugeSample[]>,
  settings: Partial<ExporterSettings> = {},
): TextExporter {
  const exporter = createExporter({
    readStoredGauges: async () => {
      const current = await read();
      return () => ({ current, kept: [] });
    },
    clock: aClock(),
    logger: silentLogger,
    version: '1.2.3',
    ...settings,
  });
  return asText(exporter);
}

/** Values by name and labels, as in the text: `name{a="b"}`. */
function series(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
}

/** Returns the series in the text that belong to stored gauges. */
function storedSeries(text: string): string[] {
  const stored = Object.entries(metricCatalogue).filter(([, { source }]) => source === 'stored');
  const names = new Set(stored.map(([name]) => name));
  return [...series(text).keys()].filter((key) => names.has(key.replace(/\{.*/, '')));
}

const HOUR = 3600;
const faq = { pipeline: 'docs', golden_set: 'faq' };
const ndcg = { ...faq, segment: 'all', k: '10' };
const ndcgSeries = 'recalld_golden_ndcg{pipeline="docs",golden_set="faq",segment="all",k="10"}';

function scored(value: number): GaugeSample {
  return sample('recalld_golden_ndcg', ndcg, value);
}

it('an exporter counts latencies in the configured buckets', async () => {
  const exporter = createExporter({
    readStoredGauges: async () => () => ({ current: [], kept: [] }),
    clock: aClock(),
    logger: silentLogger,
    version: '1.2.3',
    buckets: { recalld_query_latency_seconds: [0.2, 3] },
  });
  onTestFinished(() => exporter.close());
  exporter.meter.observe('recalld_query_latency_seconds', { pipeline: 'docs' }, 2.5);
  const text = Buffer.concat(await exporter.scrape()).toString('utf8');
  const limits = [...text.matchAll(/^recalld_query_latency_seconds_bucket\{le="([^"]+)",pipeline="docs"\} (\d)$/gm)];
  expect(limits.map(([, limit, count]) => [limit, count])).toEqual([
    ['0.2', '0'],
    ['3', '1'],
    ['+Inf', '1'],
  ]);
});

describe('a scrape', () => {
  it('shows stored values and values counted by this process', async () => {
    const exporter = anExporter(async () => [scored(0.8125)]);
    exporter.meter.increment('recalld_jobs_total', { task: 'run-golden-set', outcome: 'completed' }, 2);
    exporter.meter.observe('recalld_job_duration_seconds', { task: 'run-golden-set' }, 0.25);
    const shown = series(await exporter.freshScrape());
    expect(shown.get(ndcgSeries)).toBe('0.8125');
    expect(shown.get('recalld_jobs_total{task="run-golden-set",outcome="completed"}')).toBe('2');
    expect(shown.get('recalld_job_duration_seconds_bucket{le="0.1",task="run-golden-set"}')).toBe('0');
    expect(shown.get('recalld_job_duration_seconds_bucket{le="0.5",task="run-golden-set"}')).toBe('1');
    expect(shown.get(`recalld_build_info{version="1.2.3",nodejs="${process.versions.node}"}`)).toBe('1');
    expect(shown.get('recalld_snapshot_age_seconds')).toBe('0');
  });

  it('omits a value that is not a finite number, counts it and shows the others', async () => {
    const log = recordLog();
    const others = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((value, index) =>
      sample('recalld_golden_mrr', { ...ndcg, k: String(index) }, value),
    );
    const exporter = anExporter(async () => [...others, scored(0.5)], { logger: log.logger });
    const first = series(await exporter.freshScrape());
    expect([...first.keys()].filter((key) => key.startsWith('recalld_golden_mrr{'))).toEqual([]);
    expect(first.get(ndcgSeries)).toBe('0.5');
    expect(series(await exporter.scrape()).get('recalld_dropped_samples_total')).toBe('6');
    expect(log.entries.map(({ fields }) => fields)).toContainEqual({ metric: 'recalld_golden_mrr' });
  });

  it('has no NaN, however soon it follows another scrape', async () => {
    const exporter = anExporter(async () => [scored(0.5)]);
    for (let i = 0; i < 5; i++) expect(await exporter.freshScrape()).not.toMatch(/^[^#].* [+-]?nan$/im);
  });

  it('no longer shows a segment that is no longer stored', async () => {
    const german = sample('recalld_golden_ndcg', { ...ndcg, segment: 'language=de' }, 0.25);
    const stored = [[scored(0.5), german], [scored(0.75)], []];
    const exporter = anExporter(async () => stored.shift() ?? []);
    const shown: string[][] = [];
    for (let i = 0; i < 3; i++) shown.push(storedSeries(await exporter.freshScrape()));
    expect(shown.map((keys) => keys.length)).toEqual([2, 1, 0]);
    expect(shown[1]).toEqual([ndcgSeries]);
  });

  it('shows no stored gauge, not even as 0, before the first rows are read', async () => {
    const exporter = anExporter(async () => Promise.reject(new Error('down')));
    const text = await exporter.freshScrape();
    expect(storedSeries(text)).toEqual([]);
    expect(series(text).get('recalld_snapshot_errors_total')).toBe('1');
  });

  it('shows counters without labels from the start, so that their first increase is seen', async () => {
    const shown = series(await anExporter(async () => []).scrape());
    expect(shown.get('recalld_snapshot_errors_total')).toBe('0');
    expect(shown.get('recalld_dropped_samples_total')).toBe('0');
  });

  it('shares one response between many concurrent scrapes', async () => {
    let reads = 0;
    const clock = aClock();
    const exporter = anExporter(
      async () => {
        const moment = (reads += 1);
        await delay(moment % 3);
        return [scored(moment), sample('recalld_golden_mrr', ndcg, moment)];
      },
      { clock },
    );
    await exporter.refresh();
    const waves = Array.from({ length: 10 }, async (_, wave) => {
      await delay(wave);
      clock.advance(2);
      return Promise.all(Array.from({ length: 5 }, () => exporter.scrape()));
    });
    for (const text of (await Promise.all(waves)).flat()) {
      const shown = series(text);
      expect(shown.get(ndcgSeries)).toMatch(/^\d+$/);
      expect(shown.get(ndcgSeries.replace('ndcg', 'mrr'))).toBe(shown.get(ndcgSeries));
    }
    expect(reads).toBeGreaterThan(1);
    expect(reads).toBeLessThanOrEqual(11);
  });

  it('counts one failure for many concurrent scrapes while the database is down', async () => {
    const clock = aClock();
    const exporter = anExporter(async () => Promise.reject(new Error('down')), { clock });
    await exporter.refresh();
    clock.advance(2);
    await Promise.all(Array.from({ length: 5 }, () => exporter.scrape()));
    const shown = series(await exporter.scrape());
    expect(shown.get('recalld_snapshot_errors_total')).toBe('2');
  });

  it('is answered before the first rows are read, and reports how long there have been none', async () => {
    const clock = aClock();
    const exporter = anExporter(() => new Promise(() => {}), { clock });
    clock.advance(90);
    const text = await exporter.scrape();
    expect(storedSeries(text)).toEqual([]);
    expect(series(text).get('recalld_snapshot_age_seconds')).toBe('90');
    expect(series(text).get('recalld_build_info{version="1.2.3",nodejs="' + process.versions.node + '"}')).toBe('1');
  });

  it('is answered while the database is stuck, without queueing queries', async () => {
    let reads = 0;
    const waiting: ((samples: readonly GaugeSample[]) => void)[] = [];
    const stuck = async (): Promise<readonly GaugeSample[]> => {
      reads += 1;
      if (reads === 1) return [scored(0.5)];
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    };
    const clock = aClock();
    const exporter = anExporter(stuck, { clock });
    await exporter.refresh();
    for (const age of ['15', '30']) {
      clock.advance(15);
      const shown = series(await exporter.scrape());
      expect(shown.get('recalld_snapshot_age_seconds')).toBe(age);
      expect(shown.get(ndcgSeries)).toBe('0.5');
    }
    expect(reads).toBe(2);
    for (const answer of waiting) answer([scored(0.75)]);
    // The current read, which began 15 seconds ago, ends.
    const shown = series(await exporter.freshScrape());
    expect(shown.get(ndcgSeries)).toBe('0.75');
    expect(shown.get('recalld_snapshot_age_seconds')).toBe('15');
  });

  it('starts the next read when its snapshot is older than a second, and shows the previous snapshot', async () => {
    let reads = 0;
    const clock = aClock();
    const exporter = anExporter(async () => [scored((reads += 1))], { clock });
    await exporter.refresh();
    for (const [seconds, shown, read] of [
      [1, '1', 1],
      [1, '1', 2],
      [0, '2', 2],
    ] as const) {
      clock.advance(seconds);
      expect(series(await exporter.scrape()).get(ndcgSeries)).toBe(shown);
      await waitFor(() => reads >= read);
      expect(reads).toBe(read);
    }
  });

  it('exports rows that are at most ten seconds old, even at the first scrape', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    let reads = 0;
    const exporter = anExporter(async () => [scored((reads += 1))]);
    await exporter.refresh();
    vi.advanceTimersByTime(10_000);
    await exporter.refresh();
    expect(reads).toBe(2);
    exporter.close();
    vi.advanceTimersByTime(60_000);
    await exporter.refresh();
    expect(reads).toBe(2);
  });
});

describe('with a database that goes down', () => {
  const database = useDatabase();

  async function start() {
    const gate = await startTcpGate(database.connection);
    onTestFinished(() => gate.close());
    const connection = { ...database.connection, host: gate.host, port: gate.port };
    const pool = createPool({ connection, size: 2, logger: silentLogger });
    onTestFinished(() => pool.end());
    const queue = await openJobQueue({
      backend: { kind: 'postgres', connection },
      jobs: [],
      logger: silentLogger,
    });
    onTestFinished(() => queue.close());
    const runs = createGoldenRuns(pool);
    const { id } = await createRun({ runs, sets: createGoldenSets(pool) });
    await runs.finish(id, anEnd());

    const clock = aClock(minutes(5));
    const log = recordLog();
    const pipelines = [aWatchedPipeline({ golden: [] })];
    const measurements = createMeasurements(pool);
    const read = () =>
      readStoredGauges(
        contextOf({
          db: { golden: { runs }, measurements },
          queue,
          clock,
          pipelines,
          intervalSeconds: () => HOUR,
        }),
        [],
      );
    const exporter = asText(createExporter({ readStoredGauges: read, clock, logger: log.logger, version: '1' }));
    return { gate, clock, log, exporter };
  }

  it('the last rows are shown with their age, failures are counted, and the next rows are fresh again', async () => {
    const { gate, clock, log, exporter } = await start();
    const before = await exporter.freshScrape();
    expect(series(before).get(ndcgSeries)).toBe('0.8125');

    await gate.shut();
    clock.advance(30);
    const first = await exporter.freshScrape();
    clock.advance(30);
    const second = await exporter.freshScrape();
    expect(storedSeries(second).map((key) => [key, series(second).get(key)])).toEqual(
      storedSeries(before).map((key) => [key, series(before).get(key)]),
    );
    expect([first, second].map((text) => series(text).get('recalld_snapshot_age_seconds'))).toEqual(['30', '60']);
    // Each scrape starts a new read, which fails later.
    const failures = (text: string) => Number(series(text).get('recalld_snapshot_errors_total'));
    expect(failures(first)).toBeGreaterThanOrEqual(1);
    expect(failures(second)).toBeGreaterThan(failures(first));

    await gate.open();
    const after = await waitFor(async () => {
      const text = await exporter.freshScrape();
      return series(text).get('recalld_snapshot_age_seconds') === '0' ? text : null;
    });
    expect(series(after).get(ndcgSeries)).toBe('0.8125');
    expect(failures(await exporter.freshScrape())).toBe(failures(after));
    expect(log.entries.filter(({ level }) => level === 'error')).toHaveLength(failures(after));
  });

  it('a scrape does not wait while the database hangs, and withholds values that are too old to trust', async () => {
    const { gate, clock, exporter } = await start();
    await exporter.refresh();
    gate.hold();
    clock.advance(60);
    const events: string[] = [];
    const shown = series(await exporter.scrape().finally(() => events.push('scrape answered')));
    expect(shown.get(ndcgSeries)).toBe('0.8125');
    expect(shown.get('recalld_golden_scores_withheld{pipeline="docs",golden_set="faq"}')).toBe('0');
    // The read that this scrape started is still in progress when the next scrapes get their responses.
    const reading = exporter.refresh().finally(() => events.push('database answered'));
    clock.advance(3 * HOUR);
    const later = series(await exporter.scrape().finally(() => events.push('scrape answered')));
    expect(later.has(ndcgSeries)).toBe(false);
    expect(later.get('recalld_golden_scores_withheld{pipeline="docs",golden_set="faq"}')).toBe('1');
    expect(later.get('recalld_snapshot_age_seconds')).toBe(String(3 * HOUR + 60));
    await gate.open();
    await reading;
    expect(events).toEqual(['scrape answered', 'scrape answered', 'database answered']);
  });
});

describe('the exported text', () => {
  const promtool = spawnSync('promtool', ['--version']).status === 0;
  if (!promtool) process.stderr.write('\nSKIPPED: tests that need promtool, since there is none on the PATH.\n\n');

  it.skipIf(!promtool)('is accepted by promtool, with all metrics and awkward labels in it', async () => {
    const everyGauge = Object.entries(metricCatalogue).flatMap(([name, { type, source, labels }]) => {
      if (type !== 'gauge' || source !== 'stored') return [];
      const values = Object.fromEntries(labels.map((label) => [label, 'a "quoted" \\ back\nslash ñ \u{1F600}']));
      return [{ name, labels: values, value: 0.5 } as GaugeSample];
    });
    const exporter = anExporter(async () => everyGauge);
    exporter.meter.increment('recalld_jobs_total', { task: 'run-golden-set', outcome: 'dead' });
    exporter.meter.observe('recalld_job_duration_seconds', { task: 'run-golden-set' }, 1);
    const text = await exporter.freshScrape();
    expect(storedSeries(text)).toHaveLength(everyGauge.length);
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});
