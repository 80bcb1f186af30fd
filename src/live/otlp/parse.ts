/** The formats of OTLP over HTTP: how much a body may hold, and what is answered. */
import protobuf from 'protobufjs/light.js';
import { RecalldError } from '../../core/errors.ts';

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
  if (format === null) throw unknownType(contentType);
  return { format, bytes };
}

export function unknownType(contentType: string | undefined): RecalldError {
  const named = (contentType ?? '').slice(0, 100).replaceAll(/[^\x20-\x7e]/g, '?') || '(none)';
  return malformed(`OTLP over HTTP has no Content-Type ${named}; send application/x-protobuf or application/json.`);
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
  /** Spans or log records that were not accepted. */
  readonly rejected: number;
  /** Why, or what of the others was left out; empty when nothing was. */
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
  const type = answers.lookupType(name);
  return { contentType: 'application/x-protobuf', body: type.encode(message).finish() };
}

function jsonAnswer(message: object): OtlpAnswer {
  return { contentType: 'application/json', body: Buffer.from(JSON.stringify(message)) };
}

// Field numbers are those of opentelemetry-proto v1 (collector) and google.rpc.Status.
const answers = protobuf.Root.fromJSON({
  nested: {
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
