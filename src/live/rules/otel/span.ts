/** Spans and log records as OpenTelemetry means them, whatever wire format they came in. */

/**
 * The value of an attribute. An integer that a double cannot hold exactly is the string of its digits, and bytes are
 * base64 text.
 */
export type AttributeValue = string | number | boolean | null | readonly AttributeValue[] | Attributes;

export interface Attributes {
  readonly [name: string]: AttributeValue;
}

export interface TelemetryResource {
  /** `service.name`; null when the service has none. */
  readonly serviceName: string | null;
  readonly attributes: Attributes;
}

/** The instrumentation that made the span. */
export interface InstrumentationScope {
  readonly name: string;
  readonly version: string;
}

/** What spans and log records have in common: enough to say which pipeline they belong to. */
export interface Telemetry {
  readonly resource: TelemetryResource;
  readonly scope: InstrumentationScope;
  readonly attributes: Attributes;
  /** How many attributes the service left out because of its own limits. */
  readonly droppedAttributesCount: number;
}

export type SpanKind = 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';

export interface SpanStatus {
  readonly code: 'unset' | 'ok' | 'error';
  readonly message: string;
}

interface SpanEvent {
  readonly name: string;
  readonly timeUnixNano: bigint;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
}

export interface OtlpSpan extends Telemetry {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
  /** Null: the root of its trace. */
  readonly parentSpanId: string | null;
  /** The W3C `tracestate` header. */
  readonly traceState: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
  readonly events: readonly SpanEvent[];
  readonly droppedEventsCount: number;
  readonly links: readonly SpanLink[];
  readonly status: SpanStatus;
}

export interface OtlpLogRecord extends Telemetry {
  /** Null: written outside of a trace. */
  readonly traceId: string | null;
  readonly spanId: string | null;
  readonly eventName: string;
  /** When it happened, else when it was observed; 0 when neither is told. */
  readonly timeUnixNano: bigint;
}

/** The id of the live query that a retriever span is; from it the trace can be told again. */
export function liveQueryId(traceId: string, spanId: string): string {
  return `${traceId}-${spanId}`;
}

/** The other way round: the span of a live query of this trace; null for one that came with an id of its own. */
export function spanOfLiveQuery(id: string, traceId: string): string | null {
  const spanId = id.slice(traceId.length + 1);
  return id === liveQueryId(traceId, spanId) && /^(?=.*[1-9a-f])[0-9a-f]{16}$/.test(spanId) ? spanId : null;
}

/** The moment of a time stamp in Unix nanoseconds; null when it is 0, so untold, or beyond what a Date can hold. */
export function toDate(unixNano: bigint): Date | null {
  const date = new Date(Number(unixNano / 1_000_000n));
  return unixNano <= 0n || Number.isNaN(date.getTime()) ? null : date;
}
