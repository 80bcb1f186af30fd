import type { LogFields, Logger } from '../../src/core/logger.ts';

export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger whose entries a test can inspect. */
export interface RecordedLog {
  readonly logger: Logger;
  readonly entries: readonly LogEntry[];
}

export function recordLog(): RecordedLog {
  const entries: LogEntry[] = [];
  const at =
    (level: LogEntry['level']) =>
    (message: string, fields: LogFields = {}): void => {
      entries.push({ level, message, fields });
    };
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, entries };
}

const ignore = (): void => undefined;

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
