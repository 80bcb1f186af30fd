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

/** Returns a whole number in [min, max]. */
export function readWholeNumber(value: unknown, field: string, min: number, max: number): number | undefined {
  const number = readNumber(value, field, min, max);
  if (number !== undefined && !Number.isInteger(number)) throw new InvalidField(`${field} must be a whole number`);
  return number;
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
  /** Returns `invalid` and reports the option if `parse` throws an error. A missing option is undefined. */
  const read = <T>(name: string, parse: (value: unknown) => T, invalid: T, problem: string): T => {
    let value: unknown;
    try {
      value = (given as Readonly<Record<string, unknown>> | null | undefined)?.[name] ?? undefined;
    } catch {
      problems.push(`${name} cannot be read and is ignored.`);
    }
    try {
      return parse(value);
    } catch {
      problems.push(`${name} must be ${problem}.`);
      return invalid;
    }
  };
  const readLimit = (name: string, usual: number, min: number, max: number): number => {
    const problem = `a number from ${min} to ${max}; ${usual} is used`;
    return read(name, (value) => readNumber(value, name, min, max) ?? usual, usual, problem);
  };
  const urlProblem = 'an http or https address without a user name or password; nothing is sent';
  const url = read<URL | null>('url', parseUrl, null, urlProblem);
  const keyProblem = 'a string of visible ASCII characters; nothing is sent';
  const authorization = read('apiKey', parseApiKey, null, keyProblem);
  return {
    url: authorization === null ? null : url,
    headers: { 'user-agent': `recalld-client/${version}`, accept: 'application/json', ...authorization },
    pipeline: read('pipeline', parsePipeline, undefined, 'the name of a pipeline; the given value is ignored'),
    maxQueue: Math.floor(readLimit('maxQueue', 10_000, 1, 1_000_000)),
    maxQueueBytes: Math.floor(readLimit('maxQueueBytes', 16 * 1024 * 1024, 1024, 1024 ** 3)),
    batchSize: Math.floor(readLimit('batchSize', 100, 1, 1000)),
    flushIntervalMs: Math.floor(readLimit('flushIntervalMs', 1000, 1, 3_600_000)),
    timeoutMs: Math.floor(readLimit('timeoutMs', 5000, 1, 60_000)),
    sampleRate: readLimit('sampleRate', 1, 0, 1),
    onDrop: read('onDrop', parseListener, undefined, 'a function; the given value is ignored'),
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

function parseUrl(value: unknown): URL {
  const url = new URL(String(value));
  if (/^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url;
  throw new InvalidField('url is not usable');
}

/** Returns the header with the key; an empty object if there is no key. Throws if no header can contain the key. */
function parseApiKey(value: unknown = ''): { readonly authorization?: string } | null {
  // A key that was read from a file often ends with a line feed.
  const key = typeof value === 'string' ? value.trim() : null;
  if (key === '') return {};
  if (key !== null && /^[\x21-\x7e]+$/.test(key)) return { authorization: `Bearer ${key}` };
  throw new InvalidField('apiKey is not usable');
}

const parsePipeline = (value: unknown) => readIdentifier(value, 'pipeline');

function parseListener(value: unknown): ((drop: Drop) => unknown) | undefined {
  if (value === undefined || typeof value === 'function') return value as Settings['onDrop'];
  throw new InvalidField('onDrop is not a function');
}
