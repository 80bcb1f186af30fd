import protobuf from 'protobufjs/light.js';
import { RecalldError } from '../../core/errors.ts';

/** Limits on an OTLP request, except on its size in bytes. */
export const defaultOtlpLimits = {
  /** Maximum number of spans or log records. */
  maxItems: 10_000,
  /**
   * Maximum number of protobuf fields, or of arrays and objects in JSON. Each field, array or object takes memory, even
   * if it is empty.
   */
  maxFields: 2_000_000,
  /** Maximum nesting of attribute values. */
  maxDepth: 16,
};

export type OtlpLimits = typeof defaultOtlpLimits;

type OtlpFormat = 'protobuf' | 'json';

const formats: ReadonlyMap<string, OtlpFormat> = new Map([
  ['application/x-protobuf', 'protobuf'],
  ['application/protobuf', 'protobuf'],
  ['application/json', 'json'],
]);

/** Returns the format for a `Content-Type`; null for a type that OTLP/HTTP does not define. */
export function otlpFormat(contentType = ''): OtlpFormat | null {
  return formats.get(contentType.replace(/;.*/s, '').trim().toLowerCase()) ?? null;
}

/** An uncompressed body with its format. */
export interface OtlpContent {
  readonly format: OtlpFormat;
  readonly bytes: Uint8Array;
}

/** @throws RecalldError for a type that OTLP/HTTP does not define */
export function contentOf(bytes: Uint8Array, contentType: string | undefined): OtlpContent {
  const format = otlpFormat(contentType);
  if (format === null) throw unknownType(contentType);
  return { format, bytes };
}

export function unknownType(contentType: string | undefined): RecalldError {
  const named = (contentType ?? '').slice(0, 100).replaceAll(/[^\x20-\x7e]/g, '?') || '(none)';
  return malformed(
    `OTLP over HTTP does not support Content-Type ${named}; send application/x-protobuf or application/json.`,
  );
}

/** Creates the error for a body that does not match its headers; a retry cannot succeed. */
export function malformed(message: string, cause?: unknown): RecalldError {
  return new RecalldError('otlp_malformed', message, { cause });
}

export function tooLarge(message: string, cause?: unknown): RecalldError {
  const fix = 'Configure the exporter to send smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE).';
  return new RecalldError('body_too_large', `${message} ${fix}`, { cause });
}

/** Exporters log the message, and do not retry the rejected items. */
export interface PartialSuccess {
  /** Number of rejected spans or log records. */
  readonly rejected: number;
  /** Reasons for rejections, and warnings about accepted items; empty if there are none. */
  readonly message: string;
}

const signals = {
  traces: { type: 'ExportTraceServiceResponse', rejected: 'rejectedSpans' },
  logs: { type: 'ExportLogsServiceResponse', rejected: 'rejectedLogRecords' },
} as const;

/**
 * Encodes the body of a 200 response: empty if everything was accepted, otherwise a partial success. OTLP allows a
 * warning message with 0 rejections.
 */
export function encodeSuccess(signal: keyof typeof signals, format: OtlpFormat, partial: PartialSuccess | null) {
  const { type, rejected } = signals[signal];
  // Protobuf JSON encodes 64-bit integers as strings.
  const count = format === 'json' ? String(partial?.rejected) : partial?.rejected;
  const message = partial === null ? {} : { partialSuccess: { [rejected]: count, errorMessage: partial.message } };
  return format === 'protobuf' ? protobufAnswer(type, message) : jsonAnswer(message);
}

export type OtlpAnswer = ReturnType<typeof encodeFailure>;

/**
 * Encodes the body of a 4xx or 5xx response as a google.rpc.Status.
 *
 * @param code gRPC code: 3 invalid argument, 8 resource exhausted, 14 unavailable
 */
export function encodeFailure(format: OtlpFormat, code: number, message: string) {
  return format === 'protobuf' ? protobufAnswer('RpcStatus', { code, message }) : jsonAnswer({ code, message });
}

function protobufAnswer(name: string, message: Record<string, unknown>) {
  const type = answers.lookupType(name);
  return { contentType: 'application/x-protobuf', body: type.encode(message).finish() };
}

function jsonAnswer(message: object) {
  return { contentType: 'application/json', body: Buffer.from(JSON.stringify(message)) };
}

// Field numbers of opentelemetry-proto v1 (collector) and google.rpc.Status.
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
