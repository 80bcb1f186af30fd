/** From the body of an OTLP/HTTP request to spans and log records. */
import type {
  InstrumentationScope,
  OtlpLogRecord,
  OtlpSpan,
  SpanKind,
  SpanLink,
  SpanStatus,
  TelemetryResource,
} from '../rules/otel/span.ts';
import { messageType } from './descriptor.ts';
import { type OtlpContent, type OtlpLimits, parseMessage, tooLarge } from './parse.ts';
import { attributesOf, count, elements, field, hexId, member, nanoseconds, text } from './value.ts';

interface Decoded<T> {
  readonly items: readonly T[];
  /** Items without a valid id; the answer tells how many there were. */
  readonly rejected: number;
}

/**
 * Decodes the body of `POST /v1/traces`.
 *
 * Unknown fields are skipped. Spans without a valid trace id and span id are counted as rejected.
 *
 * @throws RecalldError when the body is malformed or larger than the limits.
 */
export function decodeTraces({ format, bytes }: OtlpContent, limits: OtlpLimits): Decoded<OtlpSpan> {
  const request = parseMessage(messageType('ExportTraceServiceRequest'), bytes, format, limits);
  return readItems(request, ['resourceSpans', 'scopeSpans', 'spans'], limits, toSpan);
}

/**
 * Decodes the body of `POST /v1/logs`, like `decodeTraces`. A log record needs no ids.
 *
 * @throws RecalldError as `decodeTraces` does.
 */
export function decodeLogs({ format, bytes }: OtlpContent, limits: OtlpLimits): Decoded<OtlpLogRecord> {
  const request = parseMessage(messageType('ExportLogsServiceRequest'), bytes, format, limits);
  return readItems(request, ['resourceLogs', 'scopeLogs', 'logRecords'], limits, toLogRecord);
}

interface Origin {
  readonly resource: TelemetryResource;
  readonly scope: InstrumentationScope;
}

function readItems<T>(
  request: object,
  [resources, scopes, items]: readonly [string, string, string],
  limits: OtlpLimits,
  read: (item: unknown, origin: Origin, maxDepth: number) => T | null,
): Decoded<T> {
  const found: T[] = [];
  let rejected = 0;
  for (const ofResource of elements(request, resources)) {
    const resource = toResource(field(ofResource, 'resource'), limits.maxDepth);
    for (const ofScope of elements(ofResource, scopes)) {
      const scope = toScope(field(ofScope, 'scope'));
      for (const item of elements(ofScope, items)) {
        if (found.length + rejected >= limits.maxItems)
          throw tooLarge(`The OTLP body holds more than ${limits.maxItems} ${items}.`);
        const value = read(item, { resource, scope }, limits.maxDepth);
        if (value === null) rejected += 1;
        else found.push(value);
      }
    }
  }
  return { items: found, rejected };
}

const kinds: readonly [SpanKind, ...SpanKind[]] = [
  'unspecified',
  'internal',
  'server',
  'client',
  'producer',
  'consumer',
];
const statusCodes: readonly [SpanStatus['code'], ...SpanStatus['code'][]] = ['unset', 'ok', 'error'];

function toSpan(span: unknown, origin: Origin, maxDepth: number): OtlpSpan | null {
  const traceId = hexId(span, 'traceId', 16);
  const spanId = hexId(span, 'spanId', 8);
  if (traceId === null || spanId === null) return null;
  const status = field(span, 'status');
  return {
    ...origin,
    traceId,
    spanId,
    parentSpanId: hexId(span, 'parentSpanId', 8),
    traceState: text(span, 'traceState'),
    name: text(span, 'name'),
    kind: member(span, 'kind', 'SPAN_KIND_', kinds),
    startTimeUnixNano: nanoseconds(span, 'startTimeUnixNano'),
    endTimeUnixNano: nanoseconds(span, 'endTimeUnixNano'),
    attributes: attributesOf(span, maxDepth),
    droppedAttributesCount: count(span, 'droppedAttributesCount'),
    events: elements(span, 'events').map((event) => ({
      name: text(event, 'name'),
      timeUnixNano: nanoseconds(event, 'timeUnixNano'),
      attributes: attributesOf(event, maxDepth),
    })),
    droppedEventsCount: count(span, 'droppedEventsCount'),
    links: elements(span, 'links').flatMap(toLink),
    status: {
      code: member(status, 'code', 'STATUS_CODE_', statusCodes),
      message: text(status, 'message'),
    },
  };
}

function toLink(link: unknown): readonly SpanLink[] {
  const traceId = hexId(link, 'traceId', 16);
  const spanId = hexId(link, 'spanId', 8);
  return traceId === null || spanId === null ? [] : [{ traceId, spanId }];
}

function toLogRecord(record: unknown, origin: Origin, maxDepth: number): OtlpLogRecord {
  const happened = nanoseconds(record, 'timeUnixNano');
  return {
    ...origin,
    traceId: hexId(record, 'traceId', 16),
    spanId: hexId(record, 'spanId', 8),
    eventName: text(record, 'eventName'),
    timeUnixNano: happened > 0n ? happened : nanoseconds(record, 'observedTimeUnixNano'),
    attributes: attributesOf(record, maxDepth),
    droppedAttributesCount: count(record, 'droppedAttributesCount'),
  };
}

function toResource(resource: unknown, maxDepth: number): TelemetryResource {
  const attributes = attributesOf(resource, maxDepth);
  const name = attributes['service.name'];
  return { serviceName: typeof name === 'string' && name !== '' ? name : null, attributes };
}

function toScope(scope: unknown): InstrumentationScope {
  return { name: text(scope, 'name'), version: text(scope, 'version') };
}
