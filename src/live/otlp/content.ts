/** What an OTLP request holds, by its headers. */
import { malformed } from './refusal.ts';

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
