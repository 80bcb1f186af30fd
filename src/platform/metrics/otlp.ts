/**
 * Exports metrics and events over OTLP in JSON (opentelemetry-proto v1: collector, metrics, logs) to one address, with
 * the configured headers, timeouts and proxy.
 */
import { hostname } from 'node:os';
import type { HttpServiceConfig } from '../config/connection.ts';
import { at, createJsonApi, numberOf, textOf } from '../outbound/json-api.ts';
import type { MetricReading } from './prometheus.ts';

interface KeyValue {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly doubleValue: number };
}

/** Identity of the process. Prometheus derives `job` and `instance` from it. */
interface Reporter {
  readonly instance: string;
  readonly version: string;
  readonly startedAt: Date;
}

const CUMULATIVE = 2;

const attributesOf = (labels: Readonly<Record<string, string | number>>): KeyValue[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: String(value) } }));

const resourceOf = ({ instance, version }: Reporter) => ({
  attributes: attributesOf({
    'service.name': 'recalld',
    'service.instance.id': instance,
    'service.version': version,
  }),
});

const scopeOf = ({ version }: Reporter) => ({ name: 'recalld', version });

const nanoseconds = (at: Date): string => `${at.getTime()}000000`;

/**
 * Builds an OTLP request with metrics. Uses Prometheus names and sets no unit. A backend that writes to Prometheus then
 * produces the series that the rules and dashboards use. A counter that is stored in the database has no start time,
 * because its count began before this process started.
 */
export function toOtlpMetrics(readings: readonly MetricReading[], reporter: Reporter, now: Date): object {
  const metrics = readings.flatMap((reading) => metricOf(reading, reporter, now) ?? []);
  return {
    resourceMetrics: [
      {
        resource: resourceOf(reporter),
        scopeMetrics: [{ scope: scopeOf(reporter), metrics }],
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
    .map(({ labels, value }) => ({ attributes: attributesOf(labels), ...time, asDouble: value }));
  if (dataPoints.length === 0) return null;
  return type === 'counter'
    ? { name, description, sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
    : { name, description, gauge: { dataPoints } };
}

/** Prometheus buckets are cumulative, whereas OTLP buckets are not; the last OTLP bucket has no bound. */
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

/** An event, such as an evaluation, that concerns a span. */
interface SpanEvent {
  readonly name: string;
  readonly at: Date;
  /** Trace id, 32 hexadecimal digits. */
  readonly traceId: string;
  /** Span id, 16 hexadecimal digits; null if only the trace is known. */
  readonly spanId: string | null;
  /** Attributes; numbers are sent as numbers, not as text. */
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** Builds an OTLP request with events, as named log records. */
export function toOtlpEvents(events: readonly SpanEvent[], reporter: Reporter, now: Date): object {
  const logRecords = events.map(({ name: eventName, at, traceId, spanId, attributes }) => ({
    timeUnixNano: nanoseconds(at),
    observedTimeUnixNano: nanoseconds(now),
    eventName,
    traceId,
    ...(spanId === null ? {} : { spanId }),
    attributes: Object.entries(attributes).map(
      ([key, value]): KeyValue => ({
        key,
        value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value },
      }),
    ),
  }));
  return {
    resourceLogs: [{ resource: resourceOf(reporter), scopeLogs: [{ scope: scopeOf(reporter), logRecords }] }],
  };
}

export type OtlpEndpoint = ReturnType<typeof createOtlpEndpoint>;

type OtlpRefusal = NonNullable<ReturnType<typeof partOf>>;

/** @throws RecalldError config_invalid if an address, a header or a TLS file cannot be used */
export function createOtlpEndpoint(config: HttpServiceConfig, process: Omit<Reporter, 'instance'>) {
  const identity = { service: 'The OTLP endpoint', configField: 'metrics.otlp' };
  const api = createJsonApi(config, identity);
  const longestMs = config.timeout_ms * (config.retries + 1);
  return {
    reporter: { ...process, instance: `${hostname()}:${globalThis.process.pid}` },
    /**
     * Sends one request, with the configured retries and timeout.
     *
     * @returns null if everything was accepted; otherwise the reason for the failure, and whether part of the request
     * was accepted
     */
    async send(signal: 'metrics' | 'logs', body: object): Promise<OtlpRefusal | null> {
      const call = { method: 'POST', path: `/v1/${signal}`, body, purpose: signal } as const;
      const answer = await api.call(call, AbortSignal.timeout(longestMs)).catch(() => null);
      if (answer === null) return { reason: 'the receiver timed out', isPartial: false };
      if (answer.kind === 'answer') return partOf(answer.json);
      // If Prometheus accepts a request, its response has an empty body.
      return answer.code === 'not_json' ? null : { reason: answer.message, isPartial: false };
    },
    close: (): void => api.close(),
  };
}

/** Reads `partialSuccess` from a response. The counts in `partialSuccess` are strings in JSON. */
function partOf(answer: unknown) {
  const part = at(answer, 'partialSuccess');
  const refused = numberOf(at(part, 'rejectedDataPoints')) ?? numberOf(at(part, 'rejectedLogRecords')) ?? 0;
  if (refused <= 0) return null;
  const why = textOf(at(part, 'errorMessage')) ?? 'no reason given';
  return {
    reason: `the receiver rejected ${refused} items: ${why}`,
    /**
     * True if the receiver rejected part of the request. A retry would not help, because the receiver would reject the
     * same items again.
     */
    isPartial: true,
  };
}
