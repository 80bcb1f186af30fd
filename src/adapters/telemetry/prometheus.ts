/** The exporter: metrics of the catalogue on a registry of their own, stored gauges rebuilt at each scrape. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type MetricName, metricCatalogue } from '../../metrics/catalogue.ts';
import type { MetricDefinition } from '../../metrics/definition.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Meter, ReadStoredGauges } from '../../ports/metrics.ts';
import type { Logger } from '../../ports/telemetry.ts';
import { createStoredGaugesWriter } from './stored-gauges.ts';

export interface Exporter {
  readonly meter: Meter;
  readonly contentType: string;
  /**
   * The exposition text in parts, in UTF-8. Never rejects because of the database: then the last good rows are shown,
   * with their age.
   */
  scrape(): Promise<readonly Buffer[]>;
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

  let stored: readonly Buffer[] = [];
  let refreshedAtMs: number | null = null;
  const startedAtMs = settings.clock.monotonicMs();

  // A value that is not finite would resolve alerts in silence, so it is dropped and counted.
  const write = createStoredGaugesWriter((metric) => {
    counter('recalld_dropped_samples_total').inc();
    settings.logger.error('a sample is not a finite number and is not exported', { metric });
  });

  const read = createBoundedRead(settings);
  const refresh = async (): Promise<void> => {
    try {
      stored = await write(await read());
      refreshedAtMs = settings.clock.monotonicMs();
    } catch (error) {
      counter('recalld_snapshot_errors_total').inc();
      settings.logger.error('the stored gauges could not be refreshed', {
        reason: error instanceof Error ? error.message : String(error),
      });
    }
    const ageMs = settings.clock.monotonicMs() - (refreshedAtMs ?? startedAtMs);
    gauge('recalld_snapshot_age_seconds').set(ageMs / 1000);
  };

  let running: Promise<readonly Buffer[]> | null = null;
  return {
    meter: {
      increment: (name, labels, by = 1) => (metrics.get(name) as Counter).inc(labels, by),
      observe: (name, labels, value) => (metrics.get(name) as Histogram).observe(labels, value),
    },
    contentType: registry.contentType,
    // Scrapes that overlap share one refresh: resetting gauges under another scrape would tear its answer.
    scrape() {
      running ??= refresh()
        .then(() => registry.metrics())
        .then((counted) => [Buffer.from(withoutNotANumber(counted)), ...stored])
        .finally(() => {
          running = null;
        });
      return running;
    },
  };
}

/** A scrape must be answered while Prometheus waits for it, which is 10 s by default. */
const READ_LIMIT_MS = 5000;

/**
 * Rejects when the database is stuck, so that what this process knows of itself is exported all the same. A read
 * that is under way is waited for again and not joined by another, which would be stuck as well.
 */
function createBoundedRead({ readStoredGauges, clock }: ExporterSettings): ReadStoredGauges {
  let reading: ReturnType<ReadStoredGauges> | null = null;
  return async () => {
    reading ??= readStoredGauges().finally(() => {
      reading = null;
    });
    const limit = new AbortController();
    const tooLong = clock.sleep(READ_LIMIT_MS, limit.signal).then(() => {
      throw new Error(`the database did not answer within ${READ_LIMIT_MS / 1000} s`);
    });
    try {
      return await Promise.race([reading, tooLong]);
    } finally {
      limit.abort();
    }
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
