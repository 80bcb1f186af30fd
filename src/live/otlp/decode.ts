/** Decodes OTLP/HTTP bodies into spans and log records. An unreadable item does not affect other items. */
import type { RejectionCode } from '../../core/errors.ts';
import type {
  Attributes,
  AttributeValue,
  InstrumentationScope,
  OtlpLogRecord,
  OtlpSpan,
  SpanEvent,
  SpanLink,
  SpanStatus,
  Telemetry,
  TelemetryResource,
} from '../rules/otel/span.ts';
import {
  elements,
  FORBIDDEN_KEY,
  field,
  integer,
  noAttributes,
  type ReadValue,
  readOr,
  text,
  UnreadableMessage,
} from './attribute-values.ts';
import { type MessageName, type OtlpMessages, openMessages } from './messages.ts';
import { malformed, type OtlpContent, type OtlpLimits, tooLarge } from './parse.ts';

function count(message: unknown, name: string): number {
  const value = Number(field(message, name) ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/**
 * Returns an id as lower-case hexadecimal digits. Ids are bytes in protobuf and hexadecimal in JSON.
 *
 * @returns null if the id is missing, has the wrong length, or consists of zeros, which OpenTelemetry defines as
 *   invalid
 */
function hexId(message: unknown, name: string, byteLength: number): string | null {
  const value = field(message, name);
  const digits = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  if (typeof digits !== 'string' || digits.length !== byteLength * 2) return null;
  return /^[0-9a-f]+$/i.test(digits) && /[^0]/.test(digits) ? digits.toLowerCase() : null;
}

/**
 * Returns a time in Unix nanoseconds; 0 if the field is missing. Times are {low, high} in protobuf, and digits or a
 * number in JSON.
 */
function nanoseconds(message: unknown, name: string): bigint {
  const value = integer(field(message, name), true);
  return value === null || value < 0n ? 0n : value;
}

/** Reads an enum member, which is encoded as its number, or as `prefix` followed by a word in upper case. */
function member<T extends string>(message: unknown, name: string, prefix: string, words: readonly [T, ...T[]]): T {
  const value = field(message, name);
  const index =
    typeof value === 'string' && !/^\d+$/.test(value)
      ? words.findIndex((word) => value === prefix + word.toUpperCase())
      : Number(value ?? 0);
  return words[index] ?? words[0];
}

export type Flaws = Partial<Record<RejectionCode, number>>;

/**
 * Decodes the body of `POST /v1/traces`.
 *
 * Skips unknown fields. Rejects and counts spans that are unreadable or lack a valid trace id and span id. Drops and
 * counts unreadable attributes, events, links and resources.
 *
 * @throws RecalldError if the whole body is unreadable or exceeds the limits
 */
export function decodeTraces(content: OtlpContent, limits: OtlpLimits) {
  const messages = openMessages(content, 'ExportTraceServiceRequest', limits);
  return new Decoding(messages, limits).items(traceFields, toSpan);
}

/**
 * Decodes the body of `POST /v1/logs`. Log records do not need ids.
 *
 * @throws RecalldError as `decodeTraces`
 */
export function decodeLogs(content: OtlpContent, limits: OtlpLimits) {
  const messages = openMessages(content, 'ExportLogsServiceRequest', limits);
  return new Decoding(messages, limits).items(logFields, toLogRecord);
}

/**
 * Field and message type of each nested list, from the outermost to the innermost: resources, scopes, and the spans or
 * log records themselves.
 */
type ItemFields = readonly [NestedList, NestedList, NestedList];
type NestedList = readonly [field: string, type: MessageName];

const traceFields: ItemFields = [
  ['resourceSpans', 'ResourceSpans'],
  ['scopeSpans', 'ScopeSpans'],
  ['spans', 'Span'],
];

const logFields: ItemFields = [
  ['resourceLogs', 'ResourceLogs'],
  ['scopeLogs', 'ScopeLogs'],
  ['logRecords', 'LogRecord'],
];

/** Field names that exporters send by mistake: protobuf names, and names that OTLP dropped in 2022. */
const OTHER_NAMES =
  /^(resource_(spans|logs)|scope_(spans|logs)|log_records|instrumentation_?library_?(spans|logs)|(trace|span)_id)$/i;

type Origin = Pick<Telemetry, 'resource' | 'scope'>;

class Decoding {
  readonly flaws: Flaws = {};
  /** Number of rejected spans or log records; an unreadable list of them counts as one rejected item. */
  private rejected = 0;
  /** A misspelled JSON field, such as `resource_spans`; null if there is none. */
  private misnamed: string | null = null;
  private readonly messages: OtlpMessages;
  private readonly limits: OtlpLimits;

  constructor(messages: OtlpMessages, limits: OtlpLimits) {
    this.messages = messages;
    this.limits = limits;
  }

  items<T extends object>(
    [resources, scopes, items]: ItemFields,
    read: (item: object, origin: Origin, decoding: Decoding) => T,
  ) {
    const { body } = this.messages;
    if (!Array.isArray(field(body, resources[0]) ?? []))
      throw malformed(`The field ${resources[0]} of the OTLP body is not a list.`);
    const found: T[] = [];
    for (const ofResource of this.within(body, resources)) {
      const resource = this.resource(field(ofResource, 'resource'));
      for (const ofScope of this.within(ofResource, scopes)) {
        const scope = this.scope(field(ofScope, 'scope'));
        for (const item of this.within(ofScope, items)) {
          if (found.length + this.rejected >= this.limits.maxItems)
            throw tooLarge(`The OTLP body has more than ${this.limits.maxItems} ${items[0]}.`);
          const value = readOr(this.reject, () => read(item, { resource, scope }, this));
          if (value !== null) found.push(value);
        }
      }
    }
    // Later access to attributes may add flaws, because lists and maps are read lazily.
    return { items: found, rejected: this.rejected, flaws: this.flaws, misnamed: this.misnamed };
  }

  /** Yields the readable messages of a list; rejects all other messages. */
  private *within(message: object, [name, type]: NestedList): Generator<object> {
    const list = readOr(this.reject, () => elements(message, name, 'span_malformed')) ?? [];
    if (list.length === 0) this.misnamed ??= Object.keys(message).find((key) => OTHER_NAMES.test(key)) ?? null;
    for (const element of list) {
      const opened = this.messages.open(element, type);
      if (opened !== null) yield opened;
      else this.reject('span_malformed');
    }
  }

  private readonly reject = (code: RejectionCode): void => {
    this.rejected += 1;
    this.leaveOut(code);
  };

  readonly leaveOut = (code: RejectionCode): void => {
    this.flaws[code] = (this.flaws[code] ?? 0) + 1;
  };

  /** Returns the readable elements of a list; drops and counts all other elements. */
  parts<T>(message: object, name: string, type: MessageName, read: (part: object) => T): readonly T[] {
    const found: T[] = [];
    for (const element of readOr(this.leaveOut, () => elements(message, name, 'attribute_malformed')) ?? []) {
      const opened = this.messages.open(element, type);
      if (opened === null) this.leaveOut('attribute_malformed');
      else {
        const value = readOr(this.leaveOut, () => read(opened));
        if (value !== null) found.push(value);
      }
    }
    return found;
  }

  /** Opens a nested message; null if it is missing or unreadable. */
  part(message: unknown, type: MessageName, code: RejectionCode = 'attribute_malformed'): object | null {
    if (message === undefined || message === null) return null;
    const opened = this.messages.open(message, type);
    if (opened === null) this.leaveOut(code);
    return opened;
  }

  /**
   * Returns attributes by key; if a key occurs twice, the last one applies.
   *
   * @throws UnreadableMessage unless the attributes are a list
   */
  attributes(message: object, code: RejectionCode): Attributes {
    const pairs = elements(message, 'attributes', code);
    if (pairs.length === 0) return noAttributes;
    const attributes: Record<string, AttributeValue> = {};
    let hasDeferred = false;
    for (const pair of pairs) {
      // Inlined for speed.
      try {
        const [key, value] = this.messages.attribute(pair, this.leaveOut);
        if (key === FORBIDDEN_KEY) continue;
        hasDeferred ||= typeof value === 'function';
        if (hasDeferred) this.define(attributes, key, value);
        else attributes[key] = value as AttributeValue;
      } catch (error) {
        if (!(error instanceof UnreadableMessage)) throw error;
        this.leaveOut(error.code);
      }
    }
    return attributes;
  }

  /** Defines a lazy attribute: a list or map that is never accessed is neither parsed nor counted as unreadable. */
  private define(attributes: Record<string, AttributeValue>, key: string, value: ReadValue): void {
    const property = { configurable: true, enumerable: true };
    const set = (read: AttributeValue): AttributeValue => {
      Object.defineProperty(attributes, key, { ...property, writable: true, value: read });
      return read;
    };
    if (typeof value !== 'function') set(value);
    else Object.defineProperty(attributes, key, { ...property, get: () => set(readOr(this.leaveOut, value)) });
  }

  /** Reads a resource. If the resource is unreadable, its items are processed without resource attributes. */
  private resource(message: unknown): TelemetryResource {
    const resource = this.part(message, 'Resource', 'resource_malformed') ?? {};
    const attributes = readOr(this.leaveOut, () => this.attributes(resource, 'resource_malformed')) ?? noAttributes;
    const name = attributes['service.name'];
    return { serviceName: typeof name === 'string' && name !== '' ? name : null, attributes };
  }

  private scope(message: unknown): InstrumentationScope {
    const scope = this.part(message, 'Scope');
    return { name: text(scope, 'name'), version: text(scope, 'version') };
  }
}

const statusCodes: readonly [SpanStatus['code'], ...SpanStatus['code'][]] = ['unset', 'ok', 'error'];

function toSpan(span: object, origin: Origin, decoding: Decoding): OtlpSpan {
  const traceId = hexId(span, 'traceId', 16);
  const spanId = hexId(span, 'spanId', 8);
  if (traceId === null || spanId === null) throw UnreadableMessage.of('span_without_id');
  const status = decoding.part(field(span, 'status'), 'Status');
  return {
    ...origin,
    traceId,
    spanId,
    parentSpanId: hexId(span, 'parentSpanId', 8),
    traceState: text(span, 'traceState'),
    name: text(span, 'name'),
    startTimeUnixNano: nanoseconds(span, 'startTimeUnixNano'),
    endTimeUnixNano: nanoseconds(span, 'endTimeUnixNano'),
    attributes: decoding.attributes(span, 'span_malformed'),
    droppedAttributesCount: count(span, 'droppedAttributesCount'),
    events: decoding.parts(
      span,
      'events',
      'Event',
      (event): SpanEvent => ({
        name: text(event, 'name'),
        timeUnixNano: nanoseconds(event, 'timeUnixNano'),
        attributes: decoding.attributes(event, 'attribute_malformed'),
      }),
    ),
    droppedEventsCount: count(span, 'droppedEventsCount'),
    links: decoding.parts(span, 'links', 'Link', toLink).flat(),
    status: {
      code: member(status, 'code', 'STATUS_CODE_', statusCodes),
      message: text(status, 'message'),
    },
  };
}

function toLink(link: object): readonly SpanLink[] {
  const traceId = hexId(link, 'traceId', 16);
  const spanId = hexId(link, 'spanId', 8);
  return traceId === null || spanId === null ? [] : [{ traceId, spanId }];
}

function toLogRecord(record: object, origin: Origin, decoding: Decoding): OtlpLogRecord {
  const happened = nanoseconds(record, 'timeUnixNano');
  return {
    ...origin,
    traceId: hexId(record, 'traceId', 16),
    spanId: hexId(record, 'spanId', 8),
    eventName: text(record, 'eventName'),
    timeUnixNano: happened > 0n ? happened : nanoseconds(record, 'observedTimeUnixNano'),
    attributes: decoding.attributes(record, 'span_malformed'),
  };
}
