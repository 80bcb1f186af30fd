/** From the bytes of a request to a tree of plain values, the same for both formats; never more of it than allowed. */

import type { Type } from 'protobufjs/light.js';
import protobuf from 'protobufjs/light.js';
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

export type OtlpFormat = 'protobuf' | 'json';

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
