/** The Prometheus exporter: process metrics in a registry, and stored gauges from a snapshot in memory. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import { sharedRun } from '../threads/wait.ts';
import { type LabelsOf, labelValues, type MetricName, type MetricsOfType, metricCatalogue } from './catalogue.ts';
import type { MetricDefinition } from './definition.ts';
import type { GaugeSample, Meter, ReadStoredGauges, StoredGauges } from './meter.ts';

/** Number of series serialized per turn of the event loop, so that a turn takes 1 to 2 ms. */
const SERIES_PER_TURN = 2000;

interface Lines {
  readonly byName: ReadonlyMap<string, Buffer>;
  /** Metrics with samples that were omitted because their values are not finite. */
  readonly dropped: readonly GaugeSample['name'][];
}

/**
 * Serializes stored gauges in the Prometheus text format 0.0.4. Serializes each set of samples in `kept` only once,
 * and caches its text until the key object `of` is garbage-collected. Yields to the event loop regularly.
 *
 * @param onDropped called for each sample that is omitted because it is not finite
 * @returns the parts of the text, in order
 */
export function createStoredGaugesWriter(
  onDropped: (name: GaugeSample['name']) => void,
): (gauges: StoredGauges) => Promise<readonly Buffer[]> {
  const written = new WeakMap<object, Lines>();
  return async ({ current, kept }) => {
    const parts = [await writeLines(current)];
    for (const { of, samples } of kept) {
      const known = written.get(of);
      const lines = known ?? (await writeLines(samples()));
      if (known === undefined) written.set(of, lines);
      parts.push(lines);
    }
    for (const { dropped } of parts) dropped.forEach(onDropped);
    return headings.flatMap(([name, heading]) => [heading, ...parts.flatMap(({ byName }) => byName.get(name) ?? [])]);
  };
}

/** The heading of each metric: its HELP and TYPE lines, which must precede its samples. */
const headings = Object.entries<MetricDefinition>(metricCatalogue)
  .filter(([, { source }]) => source === 'stored')
  .map(([name, { help, type }]): [string, Buffer] => {
    const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
    return [name, Buffer.from(`\n# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`)];
  });

async function writeLines(samples: readonly GaugeSample[]): Promise<Lines> {
  const series = new Map<string, Map<string, number>>();
  const dropped: GaugeSample['name'][] = [];
  for (const [index, { name, labels, value }] of samples.entries()) {
    if (index % SERIES_PER_TURN === SERIES_PER_TURN - 1) await nextTurn();
    if (!Number.isFinite(value)) {
      dropped.push(name);
      continue;
    }
    const values = series.get(name);
    if (values === undefined) series.set(name, new Map([[writeLabels(labels), value]]));
    else values.set(writeLabels(labels), value);
  }
  const byName = new Map<string, Buffer>();
  for (const [name, values] of series) {
    let text = '';
    for (const [labels, value] of values) text += `${name}${labels} ${value}\n`;
    byName.set(name, Buffer.from(text));
    if (values.size > SERIES_PER_TURN / 10) await nextTurn();
  }
  return { byName, dropped };
}

function writeLabels(labels: GaugeSample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeValue(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Age of the snapshot beyond which a request starts the next read, without waiting for the result. */
const MAX_AGE_MS = 1000;
/** Interval between reads while no requests arrive, so that a request always finds a snapshot. */
const REFRESH_MS = 10_000;

/**
 * Creates a snapshot and starts the first read immediately. Only one read of the database runs at a time. Does not keep
 * the process alive.
 *
 * @param onFailure called with the reason for a failed read; the previous snapshot is retained
 */
function createSnapshot<T>(read: () => Promise<T>, clock: Clock, onFailure: (reason: string) => void) {
  let latest: { readonly value: T; readonly askedAtMs: number } | null = null;
  let closed = false;
  const startedAtMs = clock.monotonicMs();
  const readOnce = async (): Promise<void> => {
    const askedAtMs = clock.monotonicMs();
    try {
      latest = { value: await read(), askedAtMs };
    } catch (error) {
      if (!closed) onFailure(messageOf(error));
    }
  };
  const readShared = sharedRun(readOnce);
  const refresh = async (): Promise<void> => {
    if (!closed) await readShared();
  };
  const ageMs = (): number => clock.monotonicMs() - (latest?.askedAtMs ?? startedAtMs);
  const timer = setInterval(() => void refresh(), REFRESH_MS);
  timer.unref();
  void refresh();
  return {
    /** Returns the latest snapshot; null before the first read. */
    latest(): T | null {
      if (ageMs() > MAX_AGE_MS) void refresh();
      return latest === null ? null : latest.value;
    },
    /** Time since the cached rows were requested or, before the first rows arrive, since the start. */
    ageMs,
    /** Resolves when a read has succeeded or failed: the running read, or a new read if none is running. */
    refresh,
    /** Stops reading snapshots. Does not wait for a running read. */
    close(): void {
      closed = true;
      clearInterval(timer);
    },
  };
}

/** A metric with its current values, for any exporter. */
export interface MetricReading {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  /** True if the values come from database rows; false if this process counts them. */
  readonly isStored: boolean;
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Record<string, string | number>>;
    /** Name of a histogram's series: `NAME_bucket`, `NAME_sum` or `NAME_count`. */
    readonly metricName?: string;
  }[];
}

export type Exporter = ReturnType<typeof createExporter>;

export interface ExporterSettings {
  readonly readStoredGauges: ReadStoredGauges;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  /** Bucket bounds from the config. */
  readonly buckets?: { readonly [Name in MetricsOfType<'histogram'>]?: readonly number[] };
}

/**
 * Gauges that prom-client names with the suffix `_total`, which Prometheus reserves for counters. Each gauge also
 * exists under a name without the suffix.
 */
const misnamedGauges = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export function createExporter(settings: ExporterSettings) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedGauges) registry.removeSingleMetric(name);
  const metrics = registerCatalogue(registry, settings.buckets ?? {});
  const gauge = (name: MetricName): Gauge => metrics.get(name) as Gauge;
  const counter = (name: MetricName): Counter => metrics.get(name) as Counter;
  gauge('recalld_build_info').set({ version: settings.version, nodejs: process.versions.node }, 1);

  const snapshot = createSnapshot(settings.readStoredGauges, settings.clock, (reason) => {
    counter('recalld_snapshot_errors_total').inc();
    settings.logger.error('could not read the database rows from which stored values are exported', { reason });
  });
  // A value that is not finite would silently resolve alerts, so it is dropped and counted.
  const write = createStoredGaugesWriter((metric) => {
    counter('recalld_dropped_samples_total').inc();
    settings.logger.error('a sample is not a finite number and is not exported', { metric });
  });
  /** Returns null before the first read. */
  const storedGauges = (): StoredGauges | null => {
    gauge('recalld_snapshot_age_seconds').set(snapshot.ageMs() / 1000);
    return snapshot.latest()?.(settings.clock.now()) ?? null;
  };
  const answer = async (): Promise<readonly Buffer[]> => {
    const gauges = storedGauges();
    const stored = gauges === null ? [] : await write(gauges);
    return [Buffer.from(withoutNotANumber(await registry.metrics())), ...stored];
  };
  const meter: Meter = {
    increment: (name, labels, by = 1) => counter(name).inc(labels, by),
    set: (name, labels, value) => gauge(name).set(labels, value),
    observe: (name, labels, value) => (metrics.get(name) as Histogram).observe(labels, value),
  };

  return {
    meter,
    contentType: registry.contentType,
    /**
     * Returns the in-memory values in the Prometheus text format, in parts, as UTF-8. Never waits for the database:
     * exports cached rows together with their age, and omits values that are too old to trust. Overlapping scrapes
     * share one response, because building a response takes milliseconds of CPU time.
     */
    scrape: sharedRun(answer),
    /** Returns the same values as `scrape`, for receivers of pushed metrics. */
    async read(): Promise<readonly MetricReading[]> {
      const gauges = storedGauges();
      const counted = (await registry.getMetricsAsJSON()) as unknown as readonly MetricReading[];
      return [
        ...counted.map((metric) => ({ ...metric, isStored: false })),
        ...(gauges === null ? [] : readStored(gauges)),
      ];
    },
    /** Resolves when a read of the rows for stored gauges has succeeded or failed. */
    refresh: () => snapshot.refresh(),
    close: () => snapshot.close(),
  };
}

/** Groups the samples by metric. If two samples have the same labels, the later sample wins. */
function readStored({ current, kept }: StoredGauges): MetricReading[] {
  const byName = new Map<GaugeSample['name'], Map<string, GaugeSample>>();
  for (const one of [...current, ...kept.flatMap(({ samples }) => samples())]) {
    const series = byName.get(one.name) ?? new Map<string, GaugeSample>();
    byName.set(one.name, series.set(writeLabels(one.labels), one));
  }
  return [...byName].map(([name, series]) => {
    const { help, type } = metricCatalogue[name];
    return { name, help, type, isStored: true, values: [...series.values()] };
  });
}

/** Removes samples that are NaN. Node.js event loop metrics are NaN if one scrape immediately follows another. */
function withoutNotANumber(text: string): string {
  return text.replaceAll(/^[^#\n].* Nan$\n?/gm, '');
}

function registerCatalogue(
  registry: Registry,
  buckets: Readonly<Record<string, readonly number[]>>,
): Map<string, Gauge | Counter | Histogram> {
  return new Map<string, Gauge | Counter | Histogram>(
    Object.entries<MetricDefinition>(metricCatalogue)
      .filter(([, { source }]) => source === 'process')
      .map(([name, definition]): [string, Gauge | Counter | Histogram] => {
        const options = { name, help: definition.help, labelNames: [...definition.labels], registers: [registry] };
        const metric =
          definition.type === 'histogram'
            ? new Histogram({ ...options, buckets: [...(buckets[name] ?? definition.buckets ?? [])] })
            : new { gauge: Gauge, counter: Counter }[definition.type](options);
        // Removes the initial value, because a gauge without labels would otherwise export 0 before it is set.
        if (definition.type === 'gauge' && definition.labels.length === 0) metric.reset();
        return [name, metric];
      }),
  );
}

/**
 * Exports a counter as 0 for each value of the label that has a fixed set of values. In PromQL, `increase` is 0 for a
 * counter that appears with its first event, so an alert would miss that event.
 *
 * @param labels all other labels
 */
export function startAtZero<Name extends MetricsOfType<'counter'>>(
  meter: Meter,
  name: Name,
  labels: Partial<LabelsOf<Name>> = {},
): void {
  const known: Partial<Record<string, Readonly<Record<string, readonly string[]>>>> = labelValues;
  const limited = Object.entries(known[name] ?? {}).find(([label]) => !Object.hasOwn(labels, label));
  const each = limited === undefined ? [{}] : limited[1].map((value) => ({ [limited[0]]: value }));
  for (const one of each) meter.increment(name, { ...labels, ...one }, 0);
}

export const LAG_INTERVAL_MS = 100;

/**
 * Measures ten times a second how late a timer fires, because other work waits just as long. Records each delay once,
 * however long it is. Does not keep the process alive.
 *
 * @param record called with each delay, in seconds
 * @returns a function that stops the measurement
 */
export function watchEventLoop(meter: Meter, record: (seconds: number) => void): () => void {
  let dueAt = performance.now() + LAG_INTERVAL_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    const lag = Math.max(0, now - dueAt) / 1000;
    meter.observe('recalld_event_loop_lag_seconds', {}, lag);
    record(lag);
    dueAt = now + LAG_INTERVAL_MS;
  }, LAG_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
