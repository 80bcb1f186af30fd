/** Validates the host's options. An invalid option is replaced by its default and listed in `problems`. */
import type { Drop } from './types.ts';

const MAX_IDENTIFIER = 1024;
export const MAX_TEXT = 100_000;
export const MAX_SHORT_TEXT = 1000;

/** An invalid argument. The message names the field and never quotes its value. */
export class InvalidField extends Error {
  override readonly name = 'InvalidField';
}

/** Returns the value as an object with readable fields. */
export function readObject(value: unknown, field: string): Readonly<Record<string, unknown>> | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw new InvalidField(`${field} must be an object`);
  return value as Readonly<Record<string, unknown>>;
}

/** Returns a string of at most `max` UTF-16 code units. */
export function readText(value: unknown, field: string, max: number): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'string') throw new InvalidField(`${field} must be a string`);
  if (value.length > max) throw new InvalidField(`${field} is longer than ${max} characters`);
  return value;
}

/** Returns a string of 1 to 1,024 UTF-16 code units; a finite number is converted. */
export function readIdentifier(value: unknown, field: string): string | undefined {
  const text = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
  const identifier = readText(text, field, MAX_IDENTIFIER);
  if (identifier === '') throw new InvalidField(`${field} is empty`);
  return identifier;
}

/** Returns a finite number in [min, max]. */
export function readNumber(value: unknown, field: string, min: number, max: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number' && value >= min && value <= max) return value;
  throw new InvalidField(`${field} must be a number from ${min} to ${max}`);
}

/** Returns a whole number in [1, 10,000], for ranks and result counts. */
export function readCount(value: unknown, field: string): number | undefined {
  const count = readNumber(value, field, 1, 10_000);
  if (count !== undefined && !Number.isInteger(count)) throw new InvalidField(`${field} must be a whole number`);
  return count;
}

// Latest time that RFC 3339 can express, because its years have four digits.
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Converts a Date, milliseconds since the epoch or an ISO 8601 string to RFC 3339 in UTC. */
export function readTime(value: unknown, field: string): string | undefined {
  if (value === null || value === undefined) return undefined;
  let time = Number.NaN;
  if (typeof value === 'number') time = value;
  else if (typeof value === 'string') time = Date.parse(value);
  else if (value instanceof Date) time = value.getTime();
  if (time >= 0 && time <= LAST_TIME) return new Date(time).toISOString();
  throw new InvalidField(`${field} must be a Date, milliseconds since the epoch or an ISO 8601 string`);
}

/** Returns the value; throws InvalidField if it is undefined. */
export function required<T>(value: T | undefined, field: string): T {
  if (value === undefined) throw new InvalidField(`${field} is missing`);
  return value;
}

/** Version of the package, repeated here because bundles do not contain package.json. */
export const version = '0.1.0';

export interface Settings {
  /** Base URL of the daemon; null if the URL or the API key is invalid, so that nothing can be sent. */
  readonly url: URL | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly pipeline: string | undefined;
  readonly maxQueue: number;
  readonly maxQueueBytes: number;
  readonly batchSize: number;
  readonly flushIntervalMs: number;
  readonly timeoutMs: number;
  readonly sampleRate: number;
  readonly onDrop: ((drop: Drop) => unknown) | undefined;
  /**
   * For each invalid option, one sentence that names the option and states what the client does instead of using it.
   */
  readonly problems: readonly string[];
}

/** Reads options of any type. Never throws. */
export function readOptions(given: unknown): Settings {
  const problems: string[] = [];
  const read = (name: string): unknown => {
    try {
      return (given as Readonly<Record<string, unknown>> | null | undefined)?.[name] ?? undefined;
    } catch {
      problems.push(`${name} cannot be read and is ignored.`);
      return undefined;
    }
  };
  const readNumber = (name: string, fallback: number, min: number, max: number, isWhole = true): number => {
    const value = read(name);
    if (value === undefined) return fallback;
    if (typeof value === 'number' && value >= min && value <= max) return isWhole ? Math.floor(value) : value;
    problems.push(`${name} must be a number from ${min} to ${max}; ${fallback} is used.`);
    return fallback;
  };
  const url = readUrl(read('url'), problems);
  const authorization = readApiKey(read('apiKey'), problems);
  return {
    url: authorization === null ? null : url,
    headers: { 'user-agent': `recalld-client/${version}`, accept: 'application/json', ...authorization },
    pipeline: readPipeline(read('pipeline'), problems),
    maxQueue: readNumber('maxQueue', 10_000, 1, 1_000_000),
    maxQueueBytes: readNumber('maxQueueBytes', 16 * 1024 * 1024, 1024, 1024 ** 3),
    batchSize: readNumber('batchSize', 100, 1, 1000),
    flushIntervalMs: readNumber('flushIntervalMs', 1000, 1, 3_600_000),
    timeoutMs: readNumber('timeoutMs', 5000, 1, 60_000),
    sampleRate: readNumber('sampleRate', 1, 0, 1, false),
    onDrop: readListener(read('onDrop'), problems),
    problems,
  };
}

/** Reads the `timeoutMs` of a flush: 0 to 60 s; 5 s if it is missing or not a number. */
export function readFlushTimeout(options: unknown): number {
  try {
    const value: unknown = (options as { readonly timeoutMs?: unknown } | null | undefined)?.timeoutMs;
    if (typeof value === 'number' && !Number.isNaN(value)) return Math.min(60_000, Math.max(0, value));
  } catch {
    // A getter on the host's object threw.
  }
  return 5000;
}

function readUrl(value: unknown, problems: string[]): URL | null {
  try {
    const url = new URL(String(value));
    if (/^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url;
  } catch {
    // The statement after this block reports the invalid value.
  }
  problems.push('url must be an http or https address without a user name or password; nothing is sent.');
  return null;
}

/** Returns the header with the key; an empty object if there is no key, and null if no header can contain the key. */
function readApiKey(value: unknown, problems: string[]): { readonly authorization?: string } | null {
  if (value === undefined) return {};
  // A key that was read from a file often ends with a line feed.
  const key = typeof value === 'string' ? value.trim() : '';
  if (key === '' && typeof value === 'string') return {};
  if (/^[\x21-\x7e]+$/.test(key)) return { authorization: `Bearer ${key}` };
  problems.push('apiKey must be a string of visible ASCII characters; nothing is sent.');
  return null;
}

function readPipeline(value: unknown, problems: string[]): string | undefined {
  try {
    return readIdentifier(value, 'pipeline');
  } catch {
    problems.push('pipeline must be the name of a pipeline; the given value is ignored.');
    return undefined;
  }
}

function readListener(value: unknown, problems: string[]): ((drop: Drop) => unknown) | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'function') return value as (drop: Drop) => unknown;
  problems.push('onDrop must be a function; the given value is ignored.');
  return undefined;
}
