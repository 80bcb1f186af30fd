/** The two ways in which a request is refused. */
import { RecalldError } from '../../errors.ts';

/** The bytes are not what the headers say; the same request can never succeed. */
export function malformed(message: string, cause?: unknown): RecalldError {
  return new RecalldError('otlp_malformed', message, { cause });
}

/** The request is larger than we take. */
export function tooLarge(message: string, cause?: unknown): RecalldError {
  const wayOut = 'Let the exporter send smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE).';
  return new RecalldError('body_too_large', `${message} ${wayOut}`, { cause });
}
