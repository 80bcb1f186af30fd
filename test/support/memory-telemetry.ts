/** A log and a meter that record what they receive. */

import type { LogFields, Logger } from '../../src/core/logger.ts';
import type { Meter } from '../../src/platform/metrics/meter.ts';

export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: LogFields;
}

export class MemoryLogger implements Logger {
  readonly lines: LogLine[] = [];

  debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'debug', message, fields });
  }

  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', message, fields });
  }

  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'warn', message, fields });
  }

  error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', message, fields });
  }
}

export interface Measured {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export class MemoryMeter implements Meter {
  readonly increments: Measured[] = [];
  readonly observations: Measured[] = [];
  readonly settings: Measured[] = [];

  increment(name: string, labels: Readonly<Record<string, string>>, by = 1): void {
    this.increments.push({ name, labels, value: by });
  }

  set(name: string, labels: Readonly<Record<string, string>>, value: number): void {
    this.settings.push({ name, labels, value });
  }

  observe(name: string, labels: Readonly<Record<string, string>>, value: number): void {
    this.observations.push({ name, labels, value });
  }
}
