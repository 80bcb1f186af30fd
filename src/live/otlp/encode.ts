/** The bodies of answers to OTLP/HTTP requests, in the format of the request. */
import type { OtlpFormat } from './content.ts';
import { messageType } from './descriptor.ts';

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
  const message =
    partial === null ? {} : { partialSuccess: { [rejected]: count, errorMessage: partial.message } };
  return format === 'protobuf' ? protobufAnswer(type, message) : jsonAnswer(message);
}

/**
 * The body of a 4xx or 5xx: a google.rpc.Status.
 *
 * @param code of gRPC: 3 for a request that is wrong, 8 for one too many, 14 for a service that is not available
 */
export function encodeFailure(format: OtlpFormat, code: number, message: string): OtlpAnswer {
  return format === 'protobuf'
    ? protobufAnswer('RpcStatus', { code, message })
    : jsonAnswer({ code, message });
}

function protobufAnswer(name: string, message: Record<string, unknown>): OtlpAnswer {
  const type = messageType(name);
  return { contentType: 'application/x-protobuf', body: type.encode(message).finish() };
}

function jsonAnswer(message: object): OtlpAnswer {
  return { contentType: 'application/json', body: Buffer.from(JSON.stringify(message)) };
}
