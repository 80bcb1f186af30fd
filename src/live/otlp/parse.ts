/**
 * From the bytes of a request to a tree of plain values, the same for both formats; never more of it than allowed. Of
 * the messages of OTLP the fields that we use are read, and the others skipped.
 */
import protobuf, { type Type } from 'protobufjs/light.js';
import { RecalldError } from '../../errors.ts';
import { JsonBeyondLimit, parseBoundedJson } from '../../text/json.ts';

/** How much one OTLP request may hold, beside its bytes. */
export interface OtlpLimits {
  /** Spans or log records. */
  readonly maxItems: number;
  /** Protobuf fields, or arrays and objects of JSON: each costs memory, however few bytes it has. */
  readonly maxFields: number;
  /** How deep the value of an attribute may nest. */
  readonly maxDepth: number;
}

export const defaultOtlpLimits: OtlpLimits = {
  maxItems: 10_000,
  maxFields: 2_000_000,
  maxDepth: 16,
};

/**
 * A message of OTLP as JSON has it, save that protobuf has bytes for ids and {low, high} for 64-bit integers.
 *
 * @throws RecalldError when the bytes are not such a message, or hold more fields or deeper nesting than allowed.
 */
export function parseMessage(type: Type, bytes: Uint8Array, format: OtlpFormat, limits: OtlpLimits): object {
  return format === 'protobuf' ? parseProtobuf(type, bytes, limits) : parseJson(bytes, limits);
}

/** Refuses to go on after so many fields: an empty message takes two bytes on the wire and a hundred in memory. */
class CountingReader extends protobuf.Reader {
  fieldsLeft: number;

  constructor(bytes: Uint8Array, maxFields: number) {
    super(bytes);
    this.fieldsLeft = maxFields;
  }

  override tag(): number {
    this.fieldsLeft -= 1;
    if (this.fieldsLeft < 0) throw tooManyFields();
    return super.tag();
  }

  override string(): string {
    const length = this.uint32();
    const end = this.pos + length;
    if (end > this.len) throw new RangeError('index out of range');
    const { buffer, byteOffset } = this.buf;
    const text = Buffer.from(buffer, byteOffset + this.pos, length).toString('utf8');
    this.pos = end;
    return text;
  }
}

function parseProtobuf(type: Type, bytes: Uint8Array, limits: OtlpLimits): object {
  try {
    return type.decode(new CountingReader(bytes, limits.maxFields));
  } catch (cause) {
    if (cause instanceof RecalldError) throw cause;
    throw malformed(`The OTLP body is not a protobuf ${type.name}.`, cause);
  }
}

/** Levels of JSON around the value of an attribute, and those that each level of such a value takes. */
const LEVELS_AROUND = 16;
const LEVELS_PER_VALUE = 4;

function parseJson(bytes: Uint8Array, limits: OtlpLimits): object {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  const depth = LEVELS_AROUND + LEVELS_PER_VALUE * limits.maxDepth;
  let message: unknown;
  try {
    message = parseBoundedJson(text, { depth, containers: limits.maxFields });
  } catch (cause) {
    if (!(cause instanceof JsonBeyondLimit))
      throw malformed('The OTLP body says application/json but is not JSON.', cause);
    throw cause.code === 'too_deep' ? malformed('The OTLP body nests too deep.', cause) : tooManyFields();
  }
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message;
  throw malformed('The OTLP body is not a JSON object.');
}

function tooManyFields(): RecalldError {
  return tooLarge('The OTLP body holds more fields than are taken.');
}

type OtlpFormat = 'protobuf' | 'json';

/**
 * The format of a request by its `Content-Type`; parameters such as a charset are ignored.
 *
 * @returns null for a type that OTLP/HTTP does not have.
 */
export function otlpFormat(contentType: string | undefined): OtlpFormat | null {
  switch (contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '') {
    case 'application/x-protobuf':
    case 'application/protobuf':
      return 'protobuf';
    case 'application/json':
      return 'json';
    default:
      return null;
  }
}

/** A body without its compression. */
export interface OtlpContent {
  readonly format: OtlpFormat;
  readonly bytes: Uint8Array;
}

/** @throws RecalldError for a type that OTLP/HTTP does not have */
export function contentOf(bytes: Uint8Array, contentType: string | undefined): OtlpContent {
  const format = otlpFormat(contentType);
  if (format === null)
    throw malformed('The Content-Type of an OTLP request is application/x-protobuf or application/json.');
  return { format, bytes };
}

/** The bytes are not what the headers say; the same request can never succeed. */
export function malformed(message: string, cause?: unknown): RecalldError {
  return new RecalldError('otlp_malformed', message, { cause });
}

/** The request is larger than we take. */
export function tooLarge(message: string, cause?: unknown): RecalldError {
  const wayOut = 'Let the exporter send smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE).';
  return new RecalldError('body_too_large', `${message} ${wayOut}`, { cause });
}

export interface OtlpAnswer {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** What was not taken; exporters log the message and do not send the items again. */
export interface PartialSuccess {
  readonly rejected: number;
  readonly message: string;
}

const signals = {
  traces: { type: 'ExportTraceServiceResponse', rejected: 'rejectedSpans' },
  logs: { type: 'ExportLogsServiceResponse', rejected: 'rejectedLogRecords' },
} as const;

/**
 * The body of a 200: empty when all was taken, else a partial success. With `rejected` 0 the message is a warning,
 * which OTLP allows.
 */
export function encodeSuccess(
  signal: keyof typeof signals,
  format: OtlpFormat,
  partial: PartialSuccess | null,
): OtlpAnswer {
  const { type, rejected } = signals[signal];
  // A 64-bit integer is a string in the JSON form of protobuf.
  const count = format === 'json' ? String(partial?.rejected) : partial?.rejected;
  const message = partial === null ? {} : { partialSuccess: { [rejected]: count, errorMessage: partial.message } };
  return format === 'protobuf' ? protobufAnswer(type, message) : jsonAnswer(message);
}

/**
 * The body of a 4xx or 5xx: a google.rpc.Status.
 *
 * @param code of gRPC: 3 for a request that is wrong, 8 for one too many, 14 for a service that is not available
 */
export function encodeFailure(format: OtlpFormat, code: number, message: string): OtlpAnswer {
  return format === 'protobuf' ? protobufAnswer('RpcStatus', { code, message }) : jsonAnswer({ code, message });
}

function protobufAnswer(name: string, message: Record<string, unknown>): OtlpAnswer {
  const type = messageType(name);
  return { contentType: 'application/x-protobuf', body: type.encode(message).finish() };
}

function jsonAnswer(message: object): OtlpAnswer {
  return { contentType: 'application/json', body: Buffer.from(JSON.stringify(message)) };
}

// Field numbers are those of opentelemetry-proto v1 (collector, trace, logs, common and resource) and google.rpc.Status.
const repeated = (type: string, id: number) => ({ rule: 'repeated', type, id });
const attributes = (id: number) => repeated('KeyValue', id);

const root = protobuf.Root.fromJSON({
  nested: {
    ExportTraceServiceRequest: { fields: { resourceSpans: repeated('ResourceSpans', 1) } },
    ResourceSpans: {
      fields: { resource: { type: 'Resource', id: 1 }, scopeSpans: repeated('ScopeSpans', 2) },
    },
    ScopeSpans: { fields: { scope: { type: 'Scope', id: 1 }, spans: repeated('Span', 2) } },
    Span: {
      fields: {
        traceId: { type: 'bytes', id: 1 },
        spanId: { type: 'bytes', id: 2 },
        traceState: { type: 'string', id: 3 },
        parentSpanId: { type: 'bytes', id: 4 },
        name: { type: 'string', id: 5 },
        kind: { type: 'int32', id: 6 },
        startTimeUnixNano: { type: 'fixed64', id: 7 },
        endTimeUnixNano: { type: 'fixed64', id: 8 },
        attributes: attributes(9),
        droppedAttributesCount: { type: 'uint32', id: 10 },
        events: repeated('Event', 11),
        droppedEventsCount: { type: 'uint32', id: 12 },
        links: repeated('Link', 13),
        status: { type: 'SpanStatus', id: 15 },
      },
    },
    Event: {
      fields: {
        timeUnixNano: { type: 'fixed64', id: 1 },
        name: { type: 'string', id: 2 },
        attributes: attributes(3),
      },
    },
    Link: { fields: { traceId: { type: 'bytes', id: 1 }, spanId: { type: 'bytes', id: 2 } } },
    SpanStatus: { fields: { message: { type: 'string', id: 2 }, code: { type: 'int32', id: 3 } } },

    ExportLogsServiceRequest: { fields: { resourceLogs: repeated('ResourceLogs', 1) } },
    ResourceLogs: { fields: { resource: { type: 'Resource', id: 1 }, scopeLogs: repeated('ScopeLogs', 2) } },
    ScopeLogs: { fields: { scope: { type: 'Scope', id: 1 }, logRecords: repeated('LogRecord', 2) } },
    LogRecord: {
      fields: {
        timeUnixNano: { type: 'fixed64', id: 1 },
        attributes: attributes(6),
        droppedAttributesCount: { type: 'uint32', id: 7 },
        traceId: { type: 'bytes', id: 9 },
        spanId: { type: 'bytes', id: 10 },
        observedTimeUnixNano: { type: 'fixed64', id: 11 },
        eventName: { type: 'string', id: 12 },
      },
    },

    Resource: { fields: { attributes: attributes(1) } },
    Scope: { fields: { name: { type: 'string', id: 1 }, version: { type: 'string', id: 2 } } },
    KeyValue: { fields: { key: { type: 'string', id: 1 }, value: { type: 'AnyValue', id: 2 } } },
    AnyValue: {
      oneofs: {
        value: {
          oneof: ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'arrayValue', 'kvlistValue', 'bytesValue'],
        },
      },
      fields: {
        stringValue: { type: 'string', id: 1 },
        boolValue: { type: 'bool', id: 2 },
        intValue: { type: 'int64', id: 3 },
        doubleValue: { type: 'double', id: 4 },
        arrayValue: { type: 'ArrayValue', id: 5 },
        kvlistValue: { type: 'KeyValueList', id: 6 },
        bytesValue: { type: 'bytes', id: 7 },
      },
    },
    ArrayValue: { fields: { values: repeated('AnyValue', 1) } },
    KeyValueList: { fields: { values: repeated('KeyValue', 1) } },

    ExportTraceServiceResponse: { fields: { partialSuccess: { type: 'TracePartialSuccess', id: 1 } } },
    TracePartialSuccess: {
      fields: { rejectedSpans: { type: 'int64', id: 1 }, errorMessage: { type: 'string', id: 2 } },
    },
    ExportLogsServiceResponse: { fields: { partialSuccess: { type: 'LogsPartialSuccess', id: 1 } } },
    LogsPartialSuccess: {
      fields: { rejectedLogRecords: { type: 'int64', id: 1 }, errorMessage: { type: 'string', id: 2 } },
    },
    RpcStatus: { fields: { code: { type: 'int32', id: 1 }, message: { type: 'string', id: 2 } } },
  },
});

/** A message type by its name. */
export function messageType(name: string): Type {
  return root.lookupType(name);
}
