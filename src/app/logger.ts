/** Writes the structured log as JSON lines to stderr, so that stdout contains only command output. */
import pino from 'pino';
import type { Logger } from '../core/logger.ts';
import { visibleJson } from '../core/text/visible-text.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export function createLogger(level: LogLevel): Logger {
  const destination = pino.destination({ fd: 2, sync: true });
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ['password', '*.password', 'authorization', '*.authorization', 'api_key', '*.api_key'],
        censor: '[redacted]',
      },
    },
    { write: (line: string) => destination.write(visibleJson(line)) },
  );
  return {
    debug: (message, fields) => log.debug(fields ?? {}, message),
    info: (message, fields) => log.info(fields ?? {}, message),
    warn: (message, fields) => log.warn(fields ?? {}, message),
    error: (message, fields) => log.error(fields ?? {}, message),
  };
}
