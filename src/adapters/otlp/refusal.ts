/** The two ways in which a request is refused. */
import { RecalldError } from '../../core/errors.ts';

/** The bytes are not what the content type says; the same request can never succeed. */
export function malformed(message: string, cause?: unknown): RecalldError {
  return new RecalldError('file_malformed', message, { cause });
}

/** The request is larger than we take; the exporter has to send smaller batches. */
export function tooLarge(message: string, cause?: unknown): RecalldError {
  return new RecalldError(
    'file_malformed',
    `${message} Lower OTEL_BSP_MAX_EXPORT_BATCH_SIZE, or raise the limit.`,
    {
      cause,
    },
  );
}
