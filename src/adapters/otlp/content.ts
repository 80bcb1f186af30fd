/** The headers and the compression of an OTLP request. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { OtlpLimits } from './limits.ts';
import { malformed, tooLarge } from './refusal.ts';

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

const inflateGzip = promisify(gunzip);

/** A body without its compression. */
export interface OtlpContent {
  readonly format: OtlpFormat;
  readonly bytes: Uint8Array;
}

/**
 * Opens the body of a request. Inflating stops as soon as more than `maxInflatedBytes` have come out, and runs off the
 * main thread.
 *
 * @throws RecalldError when the body is too large, is no valid gzip, has a type that OTLP/HTTP does not have, or an
 * encoding other than gzip and identity.
 */
export async function openContent(
  body: Uint8Array,
  contentType: string | undefined,
  contentEncoding: string | undefined,
  limits: OtlpLimits,
): Promise<OtlpContent> {
  const format = otlpFormat(contentType);
  if (format === null)
    throw malformed('The Content-Type of an OTLP request is application/x-protobuf or application/json.');
  return { format, bytes: await inflate(body, contentEncoding, limits) };
}

async function inflate(
  body: Uint8Array,
  contentEncoding: string | undefined,
  limits: OtlpLimits,
): Promise<Uint8Array> {
  const { maxBodyBytes, maxInflatedBytes } = limits;
  if (body.length > maxBodyBytes)
    throw tooLarge(`The OTLP body has ${body.length} bytes, at most ${maxBodyBytes} are taken.`);
  switch (contentEncoding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      if (body.length <= maxInflatedBytes) return body;
      throw tooLarge(`The OTLP body has ${body.length} bytes, at most ${maxInflatedBytes} are taken.`);
    case 'gzip':
      try {
        return await inflateGzip(body, { maxOutputLength: maxInflatedBytes });
      } catch (cause) {
        if (isTooLarge(cause))
          throw tooLarge(`The OTLP body inflates to more than ${maxInflatedBytes} bytes.`, cause);
        throw malformed('The OTLP body says Content-Encoding: gzip but is not valid gzip.', cause);
      }
    default:
      throw malformed('The Content-Encoding of the OTLP body is neither gzip nor identity.');
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
