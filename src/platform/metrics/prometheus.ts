/** The exporter: metrics of the catalogue on a registry of their own, and stored gauges from a snapshot in memory. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import { type MetricName, type MetricsOfType, metricCatalogue } from './catalogue.ts';
import type { MetricDefinition } from './definition.ts';
import type { GaugeSample, Meter, ReadStoredGauges, StoredGauges } from './meter.ts';

/** Series that are written before others have their turn: a millisecond or two. */
const SERIES_A_TURN = 2000;

/** The series of some samples, as lines by the name of their metric. */
interface Lines {
  readonly byName: ReadonlyMap<string, Buffer>;
  /** Metrics of the samples that are left out, since they are not finite. */
  readonly dropped: readonly GaugeSample['name'][];
}

/**
 * Writes every stored gauge of the catalogue with its series, in the text format 0.0.4 of Prometheus. What is kept is
 * written once and put together from then on, as long as its object lives. Other work has its turn in between.
 *
 * @param onDropped told at each writing of each sample that is left out because it is not a finite number
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

/** All lines of a metric follow each other, under its help and type. */
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
    if (index % SERIES_A_TURN === SERIES_A_TURN - 1) await nextTurn();
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
    if (values.size > SERIES_A_TURN / 10) await nextTurn();
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

/** Whoever asks for what is older sets off the next reading, and does not wait for it. */
const ASKED_AGE_MS = 1000;
/** Also when nobody asks, so that the first who does gets something. */
const REFRESH_MS = 10_000;

interface Snapshot<T> {
  /** Null before the first reading. */
  latest(): T | null;
  /** Since the rows were asked for; before the first of them since the start. */
  ageMs(): number;
  /** Resolves when a reading that is under way, or else a new one, has ended in whichever way. */
  refresh(): Promise<void>;
  /** Ends the readings; one that is under way is not waited for. */
  close(): void;
}

/**
 * Begins to read at once. Of readings there is never more than one under way, however many ask and however long the
 * database takes. Does not keep the process alive.
 *
 * @param onFailure told why a reading failed; what was read before it stays
 */
function createSnapshot<T>(read: () => Promise<T>, clock: Clock, onFailure: (reason: string) => void): Snapshot<T> {
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
  let reading: Promise<void> | null = null;
  const refresh = (): Promise<void> => {
    if (closed) return Promise.resolve();
    reading ??= readOnce().finally(() => {
      reading = null;
    });
    return reading;
  };
  const ageMs = (): number => clock.monotonicMs() - (latest?.askedAtMs ?? startedAtMs);
  const timer = setInterval(() => void refresh(), REFRESH_MS);
  timer.unref();
  void refresh();
  return {
    latest() {
      if (ageMs() > ASKED_AGE_MS) void refresh();
      return latest === null ? null : latest.value;
    },
    ageMs,
    refresh,
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}

/** A metric as it stands in memory, whoever it is sent to. */
export interface MetricReading {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  /** Rebuilt from the database, not counted by this process. */
  readonly isStored: boolean;
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Record<string, string | number>>;
    /** Which part of a histogram it is: `NAME_bucket`, `NAME_sum` or `NAME_count`. */
    readonly metricName?: string;
  }[];
}

export interface Exporter {
  readonly meter: Meter;
  readonly contentType: string;
  /**
   * The exposition text in parts, in UTF-8, of what is in memory: it never waits for the database. Rows that were read
   * before are shown with their age, by what can be trusted of them now.
   */
  scrape(): Promise<readonly Buffer[]>;
  /** The same for whoever is sent it instead of asking. */
  read(): Promise<readonly MetricReading[]>;
  /** Resolves when the rows behind the stored gauges were read, or could not be. */
  refresh(): Promise<void>;
  /** Reads no more. */
  close(): void;
}

export interface ExporterSettings {
  readonly readStoredGauges: ReadStoredGauges;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  /** Limits of histograms that the config sets otherwise than the catalogue. */
  readonly buckets?: { readonly [Name in MetricsOfType<'histogram'>]?: readonly number[] };
}

/** Gauges of prom-client that end in _total, which Prometheus keeps for counters; each has a sibling without it. */
const misnamedGauges = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export function createExporter(settings: ExporterSettings): Exporter {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedGauges) registry.removeSingleMetric(name);
  const metrics = registerCatalogue(registry, settings.buckets ?? {});
  const gauge = (name: MetricName): Gauge => metrics.get(name) as Gauge;
  const counter = (name: MetricName): Counter => metrics.get(name) as Counter;
  gauge('recalld_build_info').set({ version: settings.version, nodejs: process.versions.node }, 1);

  const snapshot = createSnapshot(settings.readStoredGauges, settings.clock, (reason) => {
    counter('recalld_snapshot_errors_total').inc();
    settings.logger.error('the rows behind the stored gauges could not be read', { reason });
  });
  // A value that is not finite would resolve alerts in silence, so it is dropped and counted.
  const write = createStoredGaugesWriter((metric) => {
    counter('recalld_dropped_samples_total').inc();
    settings.logger.error('a sample is not a finite number and is not exported', { metric });
  });
  const answer = async (): Promise<readonly Buffer[]> => {
    const gaugesAt = snapshot.latest();
    gauge('recalld_snapshot_age_seconds').set(snapshot.ageMs() / 1000);
    const stored = gaugesAt === null ? [] : await write(gaugesAt(settings.clock.now()));
    return [Buffer.from(withoutNotANumber(await registry.metrics())), ...stored];
  };

  const read = async (): Promise<readonly MetricReading[]> => {
    gauge('recalld_snapshot_age_seconds').set(snapshot.ageMs() / 1000);
    const counted = (await registry.getMetricsAsJSON()) as unknown as readonly MetricReading[];
    const gaugesAt = snapshot.latest();
    return [
      ...counted.map((metric) => ({ ...metric, isStored: false })),
      ...(gaugesAt === null ? [] : readStored(gaugesAt(settings.clock.now()))),
    ];
  };

  let running: Promise<readonly Buffer[]> | null = null;
  return {
    meter: {
      increment: (name, labels, by = 1) => (metrics.get(name) as Counter).inc(labels, by),
      set: (name, labels, value) => gauge(name).set(labels, value),
      observe: (name, labels, value) => (metrics.get(name) as Histogram).observe(labels, value),
    },
    contentType: registry.contentType,
    // Scrapes that overlap share one answer: it takes milliseconds of the processor to write.
    scrape() {
      running ??= answer().finally(() => {
        running = null;
      });
      return running;
    },
    read,
    refresh: () => snapshot.refresh(),
    close: () => snapshot.close(),
  };
}

/** By metric; of two samples with the same labels the later one counts. */
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

/** Node's own event loop metrics are NaN when two scrapes follow each other at once. */
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
        const options = {
          name,
          help: definition.help,
          labelNames: [...definition.labels],
          registers: [registry],
        };
        switch (definition.type) {
          case 'gauge': {
            const metric = new Gauge(options);
            // Without labels a gauge would show 0 from birth.
            if (definition.labels.length === 0) metric.reset();
            return [name, metric];
          }
          case 'counter':
            return [name, new Counter(options)];
          case 'histogram':
            return [name, new Histogram({ ...options, buckets: [...(buckets[name] ?? definition.buckets ?? [])] })];
        }
      }),
  );
}

/** How often the event loop is watched. */
export const LAG_INTERVAL_MS = 100;

/**
 * Observes ten times a second by how much a timer comes late, which is how long whatever arrived meanwhile had to wait.
 * A wait is seen once, however long it was. Does not keep the process alive.
 *
 * @param record takes each delay, too
 * @returns ends it
 */
export function watchEventLoop(meter: Pick<Meter, 'observe'>, record: (seconds: number) => void): () => void {
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
