/** The exporter: metrics of the catalogue on a registry of their own, and stored gauges from a snapshot in memory. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { type MetricName, metricCatalogue } from './catalogue.ts';
import type { MetricDefinition } from './definition.ts';
import type { Meter, ReadStoredGauges } from './meter.ts';
import { createSnapshot } from './snapshot.ts';
import { createStoredGaugesWriter } from './stored-gauges.ts';

export interface Exporter {
  readonly meter: Meter;
  readonly contentType: string;
  /**
   * The exposition text in parts, in UTF-8, of what is in memory: it never waits for the database. Rows that were read
   * before are shown with their age, by what can be trusted of them now.
   */
  scrape(): Promise<readonly Buffer[]>;
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
}

/** Gauges of prom-client that end in _total, which Prometheus keeps for counters; each has a sibling without it. */
const misnamedGauges = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

export function createExporter(settings: ExporterSettings): Exporter {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedGauges) registry.removeSingleMetric(name);
  const metrics = registerCatalogue(registry);
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
    refresh: () => snapshot.refresh(),
    close: () => snapshot.close(),
  };
}

/** Node's own event loop metrics are NaN when two scrapes follow each other at once. */
function withoutNotANumber(text: string): string {
  return text.replaceAll(/^[^#\n].* Nan$\n?/gm, '');
}

function registerCatalogue(registry: Registry): Map<string, Gauge | Counter | Histogram> {
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
            return [name, new Histogram({ ...options, buckets: [...(definition.buckets ?? [])] })];
        }
      }),
  );
}
