/**
 * A client for JSON services (vector stores and model endpoints), built from the config, and readers for their
 * responses.
 */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { codeOf, RecalldError } from '../../core/errors.ts';
import { systemClock } from '../../core/system-clock.ts';
import { formatExactJson, isMapping, JsonBeyondLimit, parseExactJson } from '../../core/text/json.ts';
import type { HttpServiceConfig, TlsConfig } from '../config/connection.ts';
import { createExchange, type ExchangeTarget, proxyFor, type TlsMaterial } from './exchange.ts';
import { sendWithRetries } from './send.ts';

/** Identity of a service: its name in messages, its config section, and how its key is sent. */
export interface ServiceIdentity {
  /** Name in messages, such as `Qdrant`. */
  readonly service: string;
  /** Path of its config section, such as `pipelines[0].vector_store`. */
  readonly configField: string;
  /** Config key of the address; default `url`. */
  readonly urlKey?: string;
  /** Headers made from config keys (see bearer, basic and keyHeader); configured headers take precedence. */
  readonly credentials?: Readonly<Record<string, string>>;
  /** Config key that contains the credentials, for messages; default `headers`. */
  readonly credentialsKey?: string;
  readonly maxResponseBytes?: number;
}

export interface JsonCall {
  readonly method: 'GET' | 'POST';
  /** Path under the base URL. The caller must percent-encode components that come from a config or a response. */
  readonly path: string;
  /** Query parameters; a parameter with a list is sent once for each value. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** A bigint is sent as a number with all digits. */
  readonly body?: unknown;
  /** Purpose of the call, such as `search`, for use in messages. */
  readonly purpose: string;
  /** Factor for the configured timeout; default 1. */
  readonly patience?: number;
}

/**
 * Result of a call. `code` is a retriever code (`http_500`, `connection_refused`, `not_json`, `too_deep`, ...) or
 * `timeout`. `message` names the service, the call and the fix. The message contains no secret and nothing from the
 * request body.
 */
export type JsonAnswer =
  | { readonly kind: 'answer'; readonly json: unknown; readonly latencyMs: number }
  /** `status` is the HTTP status; null if there was no response. */
  | (FailedCall & { readonly status: number | null });

/** A failed call to a service. The failure is returned and never thrown. */
export interface FailedCall {
  readonly kind: 'failed';
  readonly code: string;
  readonly message: string;
  readonly latencyMs: number;
}

/** Enough for 1,000 sampled vectors with 3,072 numbers each, which take about 60 MB of JSON text. */
const DEFAULT_MAX_RESPONSE_BYTES = 128 * 1024 * 1024;

/**
 * The path of each call is appended to the path of the configured URL, whose query parameters are sent with every call.
 *
 * @throws RecalldError config_invalid if an address, a header or a TLS file cannot be used
 */
export function createJsonApi(config: HttpServiceConfig, identity: ServiceIdentity) {
  const { service, configField, urlKey = 'url', credentialsKey = 'headers' } = identity;
  const { retries, max_per_second: perSecond } = config;
  const base = checkedBase(config.url, configField, urlKey);
  const tls = readTls(config.tls, `${configField}.tls`);
  const ownHeaders = serviceHeaders(config.headers, identity);
  const target: ExchangeTarget = {
    label: base.origin,
    isSecure: base.protocol === 'https:',
    configField,
    urlKey,
    // recalld chooses the method and body, so no config key can cause a 400 or a 422.
    suspects: { 401: credentialsKey, 403: credentialsKey, 404: urlKey, 405: urlKey, 407: 'proxy', 415: 'headers' },
    describeRedirect: (location) =>
      URL.canParse(location, base.href) ? new URL(location, base.href).origin : 'the final address',
  };
  const exchange = createExchange(target, {
    maxResponseBytes: identity.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
    ...(tls === undefined ? {} : { tls }),
    proxy: proxyFor(config.proxy, base.origin),
  });
  const takeTurn = createRateLimiter(perSecond ?? null);

  return {
    /** Closes idle connections now, and busy connections when their calls end. */
    close: (): void => exchange.close(),

    /** Sends one call, with retries. Rejects only with the reason of `signal`. */
    async call(
      { method, path, query = {}, body, purpose, patience = 1 }: JsonCall,
      signal: AbortSignal,
    ): Promise<JsonAnswer> {
      await takeTurn(signal);
      const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`);
      url.search = base.search;
      for (const [name, values] of Object.entries(query)) {
        url.searchParams.delete(name);
        for (const value of [values].flat()) url.searchParams.append(name, value);
      }
      const text = body === undefined ? null : formatExactJson(body);
      const headers = {
        accept: 'application/json',
        'user-agent': 'recalld',
        ...(text === null ? {} : { 'content-type': 'application/json' }),
        ...ownHeaders,
      };
      const timeoutMs = patience * config.timeout_ms;
      const request = { url: url.href, method, headers, body: text, timeoutMs };
      const { result, latencyMs } = await sendWithRetries(exchange, request, retries, signal);
      const failed = (code: string, problem: string, status: number | null = null): JsonAnswer => ({
        kind: 'failed',
        code,
        message: `${service} ${purpose} failed: ${problem}`,
        status,
        latencyMs,
      });
      if (result.kind === 'timeout') {
        const fix = `raise ${configField}.timeout_ms or check the load on the service`;
        return failed('timeout', `${base.origin} did not respond within ${timeoutMs} ms; ${fix}.`);
      }
      if (result.kind === 'failure') return failed(result.code, result.message, result.status);
      try {
        return { kind: 'answer', json: parseExactJson(result.text), latencyMs };
      } catch (error) {
        const fix = `check ${configField}.${urlKey}`;
        return error instanceof JsonBeyondLimit
          ? failed(error.code, `${base.origin} returned JSON that ${error.problem}; ${fix}.`)
          : failed('not_json', `${base.origin} did not return JSON; ${fix}.`);
      }
    },
  };
}

function checkedBase(url: string, configField: string, urlKey: string): URL {
  const invalid = (problem: string) => new RecalldError('config_invalid', `${configField}.${urlKey}: ${problem}.`);
  if (!URL.canParse(url)) throw invalid('not an absolute URL; use a URL such as http://store.internal:6333');
  const base = new URL(url);
  if (base.protocol !== 'http:' && base.protocol !== 'https:') {
    throw invalid(`the scheme ${base.protocol} is not supported; use http: or https:`);
  }
  if (base.username !== '' || base.password !== '') {
    throw invalid(`contains a user name or a password; move them to ${configField}.headers.authorization`);
  }
  return base;
}

/** Limits calls to `perSecond`, evenly spaced. */
function createRateLimiter(perSecond: number | null): (signal: AbortSignal) => Promise<void> {
  const gapMs = perSecond === null ? 0 : 1000 / perSecond;
  let nextMs = 0;
  return async (signal) => {
    signal.throwIfAborted();
    const nowMs = performance.now();
    const turnMs = Math.max(nowMs, nextMs);
    nextMs = turnMs + gapMs;
    if (turnMs > nowMs) await systemClock.sleep(turnMs - nowMs, signal);
  };
}

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return isMapping(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value at a path of keys and indexes. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof key === 'number' ? listOf(inner)[key] : fieldsOf(inner)[key]),
    value,
  );
}

/** Returns a field by its name, or by a path with dots if no field has that exact name. */
export function fieldAt(value: unknown, name: string): unknown {
  const fields = fieldsOf(value);
  if (Object.hasOwn(fields, name)) return fields[name];
  const dot = name.indexOf('.');
  return dot === -1 ? undefined : fieldAt(fields[name.slice(0, dot)], name.slice(dot + 1));
}

/** Returns a string, number or boolean as text; for a list, its first item. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) && value.length > 0 ? textOf(value[0]) : null;
}

/** Returns a field of a value as text; null if `name` is undefined. */
export function textAt(value: unknown, name: string | undefined): string | null {
  return name === undefined ? null : textOf(fieldAt(value, name));
}

/** Returns the numeric value of a finite number or a numeric string; null for anything else. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** Returns a non-empty list of numbers that are finite as float32; null for anything else. */
export function vectorOf(value: unknown): Float32Array | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const vector = new Float32Array(value.length);
  for (const [index, number] of value.entries()) {
    const read = numberOf(number);
    if (read === null || !Number.isFinite(Math.fround(read))) return null;
    vector[index] = read;
  }
  return vector;
}

/** Returns the headers for every call, with lower-case names. @throws RecalldError config_invalid */
export function serviceHeaders(
  headers: HttpServiceConfig['headers'],
  { credentials = {}, configField }: ServiceIdentity,
): Record<string, string> {
  return { ...lowerCased(credentials, configField), ...lowerCased(headers, configField) };
}

/** Builds an `Authorization: Bearer KEY` header; none if there is no key. */
export function bearer(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

/** Builds a basic authentication header; none if there is no user. */
export function basic(username: string | undefined, password = ''): Record<string, string> {
  if (username === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}` };
}

/** Returns the config key to name in messages, for a service that accepts either an API key or a user and password. */
export function loginKey(login: { readonly api_key?: string | undefined; readonly username?: string | undefined }) {
  return login.api_key === undefined && login.username !== undefined ? 'password' : 'api_key';
}

/** Builds a header such as `api-key`; none if there is no key. */
export function keyHeader(name: string, key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { [name]: key };
}

/** Reads the files in `tls`. @throws RecalldError config_invalid if a file cannot be read or is not PEM */
export function readTls(tls: TlsConfig, field: string): TlsMaterial | undefined {
  if (tls?.ca_file === undefined && tls?.client === undefined) return undefined;
  const material = {
    ...(tls.ca_file === undefined ? {} : { ca: readPem(tls.ca_file, `${field}.ca_file`) }),
    ...(tls.client === undefined
      ? {}
      : {
          cert: readPem(tls.client.cert_file, `${field}.client.cert_file`),
          key: readPem(tls.client.key_file, `${field}.client.key_file`),
        }),
  };
  try {
    createSecureContext(material);
  } catch (cause) {
    const problem = 'certificate and key do not match or are invalid; check these PEM files';
    throw new RecalldError('config_invalid', `${field}: ${problem}.`, { cause });
  }
  return material;
}

function readPem(path: string, field: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = codeOf(cause) === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new RecalldError('config_invalid', `${field}: ${path} ${reason}; check the path.`, { cause });
  }
  if (text.includes('-----BEGIN ')) return text;
  throw new RecalldError('config_invalid', `${field}: ${path} is not in PEM format; convert it with openssl.`);
}

function lowerCased(headers: Readonly<Record<string, string>>, configField: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const field = `${configField}.headers.${name}`;
      checkHeaderName(name, field);
      checkHeaderValue(value.trim(), field);
      return [name.toLowerCase(), value.trim()];
    }),
  );
}

/** @throws RecalldError config_invalid for a name that HTTP does not allow */
export function checkHeaderName(name: string, field: string): void {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw new RecalldError('config_invalid', `${field}: not a valid HTTP header name.`);
  }
}

/** @throws RecalldError config_invalid for a character other than tab, printable ASCII, and U+0080 to U+00FF */
export function checkHeaderValue(value: string, field: string): void {
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    const problem = 'the value contains a line break, a control character or a character outside Latin-1';
    throw new RecalldError('config_invalid', `${field}: ${problem}; remove it.`);
  }
}
