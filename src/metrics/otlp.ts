/** What /metrics shows, as a request of OTLP in its JSON form (opentelemetry-proto v1, collector/metrics and metrics). */
import type { MetricReading } from './prometheus.ts';

interface KeyValue {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}

interface NumberPoint {
  readonly attributes: readonly KeyValue[];
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano: string;
  readonly asDouble: number;
}

/** How the process is called: Prometheus makes of it `job` and `instance`. */
export interface Reporter {
  readonly instance: string;
  readonly version: string;
  readonly startedAt: Date;
}

const CUMULATIVE = 2;

const attributesOf = (labels: Readonly<Record<string, string | number>>): KeyValue[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: String(value) } }));

const nanoseconds = (at: Date): string => `${at.getTime()}000000`;

/**
 * Names stay those of Prometheus and no unit is named, so that a backend that writes them back to Prometheus gives the series
 * that rules and dashboards ask for. A counter that is kept in the database has no start: it is older than the process.
 */
export function toOtlpMetrics(readings: readonly MetricReading[], reporter: Reporter, now: Date): object {
  const metrics = readings.flatMap((reading) => metricOf(reading, reporter, now) ?? []);
  return {
    resourceMetrics: [
      {
        resource: {
          attributes: attributesOf({
            'service.name': 'recalld',
            'service.instance.id': reporter.instance,
            'service.version': reporter.version,
          }),
        },
        scopeMetrics: [{ scope: { name: 'recalld', version: reporter.version }, metrics }],
      },
    ],
  };
}

function metricOf(reading: MetricReading, { startedAt }: Reporter, now: Date): object | null {
  const { name, help: description, type, isStored, values } = reading;
  const start = isStored ? {} : { startTimeUnixNano: nanoseconds(startedAt) };
  const time = { ...(type === 'gauge' ? {} : start), timeUnixNano: nanoseconds(now) };
  if (type === 'histogram') {
    const dataPoints = histogramPoints(reading, time);
    return dataPoints.length === 0
      ? null
      : { name, description, histogram: { aggregationTemporality: CUMULATIVE, dataPoints } };
  }
  const dataPoints = values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }): NumberPoint => ({ attributes: attributesOf(labels), ...time, asDouble: value }));
  if (dataPoints.length === 0) return null;
  return type === 'counter'
    ? { name, description, sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
    : { name, description, gauge: { dataPoints } };
}

/** The counts of Prometheus add up from bucket to bucket, those of OTLP stand alone; its last has no limit. */
function histogramPoints({ name, values }: MetricReading, time: object): object[] {
  const series = new Map<
    string,
    { labels: Record<string, string | number>; limits: [number, number][]; sum: number }
  >();
  for (const { labels, value, metricName } of values) {
    const { le, ...own } = labels;
    const key = JSON.stringify(Object.entries(own).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const one = series.get(key) ?? { labels: own, limits: [], sum: 0 };
    series.set(key, one);
    if (metricName === `${name}_sum`) one.sum = value;
    if (metricName === `${name}_bucket`) one.limits.push([le === '+Inf' ? Infinity : Number(le), value]);
  }
  return [...series.values()].map(({ labels, limits, sum }) => {
    const sorted = limits.toSorted(([a], [b]) => a - b);
    return {
      attributes: attributesOf(labels),
      ...time,
      count: String(sorted.at(-1)?.[1] ?? 0),
      sum,
      bucketCounts: sorted.map(([, count], index) => String(count - (sorted[index - 1]?.[1] ?? 0))),
      explicitBounds: sorted.slice(0, -1).map(([limit]) => limit),
    };
  });
}
