/**
 * Authenticates callers by bearer API key, with scopes and rate limits. Also enforces the rules for a daemon that needs
 * no key.
 */
import type { IncomingHttpHeaders } from 'node:http';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { operationPaths, routeOf } from '../http/operations.ts';
import { addressOf } from './address.ts';
import type { AuthProxy } from './auth-proxy.ts';
import {
  API_KEY_PREFIX,
  type ApiKey,
  type ApiKeys,
  type ApiScope,
  allows,
  type ConsoleSessions,
  createAttempts,
  createCheck,
} from './credentials.ts';
import { validKeyOf } from './pipeline-access.ts';
import type { SignInProvider } from './sign-in-provider.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The API key of the request; null if none was sent. */
    apiKey: ApiKey | 'unknown' | null;
  }
}

/** How long a valid key is cached, in milliseconds. */
const KEY_CACHE_MS = 10_000;
/**
 * Maximum number of keys and addresses whose requests are counted; beyond this number, the least recently used entry is
 * dropped.
 */
const MAX_COUNTED = 10_000;

export type AuthenticationSettings = ReturnType<typeof createAuthentication>;

export function createAuthentication(sources: {
  readonly findKey: ApiKeys['find'];
  readonly sessions: ConsoleSessions;
  readonly optional: boolean;
  readonly logger: Logger;
  readonly provider: SignInProvider | null;
  readonly authProxy: AuthProxy | null;
}) {
  const { findKey, sessions, optional, logger, provider, authProxy } = sources;
  const attempts = createAttempts((address) =>
    logger.warn('an address sent too many invalid API keys or session cookies and is blocked for a minute', {
      address,
    }),
  );
  return {
    /** True if calls without a key have full access, which requires a daemon on loopback with an embedded database. */
    optional,
    /** Looks up an API key by its text. A revoked key stays valid for a few seconds. */
    checkKey: createCheck(findKey, KEY_CACHE_MS, attempts),
    /** Looks up who started a console session. Results are not cached. */
    checkSession: createCheck((token) => sessions.find(token), 0, attempts),
    sessions,
    /** Counts an attempt to sign in; see `createAttempts`. */
    beginAttempt: (address: string) => attempts.begin(address),
    /** OpenID Connect provider for the console; null if none is configured. */
    provider,
    /** Proxy that names the user in headers; null if none is configured. */
    authProxy,
  };
}

/**
 * Checks the key of each API call before the body is read. Limits calls per key, or per address if the key is missing
 * or invalid. Health and metrics requests have no rate limit, and their keys are not checked here.
 */
export async function identifyCallers(
  app: FastifyInstance,
  { optional, checkKey }: AuthenticationSettings,
  maxRequestsPerMinute: number,
): Promise<void> {
  app.decorateRequest('apiKey', null);
  const identify = async (request: FastifyRequest, text: string, done: (error?: Error) => void): Promise<void> => {
    let failure: Error | undefined;
    try {
      request.apiKey = (text === '' ? null : await checkKey(text, addressOf(request))) ?? 'unknown';
    } catch (error) {
      failure = error as Error;
    }
    // Each request continues in its own turn of the event loop, even if several requests waited for the same lookup.
    // The rate limiter increments its counter in one step and reads it in the next, so all requests that continued in
    // the same turn would see the total count.
    setImmediate(done, failure);
  };
  // Returns no promise unless a lookup is needed, because a promise adds cost to every request.
  app.addHook('onRequest', (request, _reply, done) => {
    const text = routeOf(request).startsWith('/v1/') ? bearerOf(request) : null;
    if (text === null) done();
    else void identify(request, text, done);
  });
  await app.register(rateLimit, {
    global: false,
    max: maxRequestsPerMinute,
    timeWindow: 60_000,
    cache: MAX_COUNTED,
    // Responses to calls within the limit have no rate limit headers.
    addHeadersOnExceeding: {
      'x-ratelimit-limit': false,
      'x-ratelimit-remaining': false,
      'x-ratelimit-reset': false,
    },
    keyGenerator: (request) => {
      const key = validKeyOf(request);
      return key === null ? `address ${addressOf(request)}` : `key ${key.id}`;
    },
    allowList: (request) => operationPaths.has(routeOf(request)),
    errorResponseBuilder: (request) =>
      optional || validKeyOf(request) !== null
        ? new RecalldError(
            'rate_limited',
            `You sent more than ${maxRequestsPerMinute} requests within a minute; send larger batches, or wait as long as Retry-After requires.`,
          )
        : new RecalldError(
            'attempts_limited',
            `More than ${maxRequestsPerMinute} calls without a key came from this address within a minute; wait as long as Retry-After requires.`,
          ),
  });
  app.addHook('onRequest', app.rateLimit());
}

/**
 * Returns a hook that accepts a request if its key has the scope. A key that was sent must be valid even if the route
 * needs no key. The hook runs before the body is read.
 */
export function requireScope(scope: ApiScope, { optional }: AuthenticationSettings): preParsingHookHandler {
  return ({ apiKey }, _reply, payload, done) => {
    if (apiKey === null) {
      if (optional) return done(null, payload);
      const message = `This call needs an API key with the ${scope} scope: send "Authorization: Bearer KEY"; \`recalld keys create\` creates one.`;
      return done(new RecalldError('key_missing', message));
    }
    if (apiKey === 'unknown') return done(new RecalldError('key_invalid', 'The API key is unknown or revoked.'));
    if (!allows(apiKey.scopes, scope)) return done(lacks(apiKey, scope, 'this call needs'));
    done(null, payload);
  };
}

/**
 * Checks a scope that only some calls to a route need, in addition to the route's own scope.
 *
 * @throws RecalldError key_lacks_scope
 */
export function assertCallerMay(scope: ApiScope, request: FastifyRequest, needs: string): void {
  const key = validKeyOf(request);
  if (key !== null) assertAllows(key, scope, needs);
}

/** @throws RecalldError key_lacks_scope */
export function assertAllows(key: ApiKey, scope: ApiScope, needs: string): void {
  if (!allows(key.scopes, scope)) throw lacks(key, scope, needs);
}

function lacks({ name }: ApiKey, scope: ApiScope, needs: string): RecalldError {
  return new RecalldError('key_lacks_scope', `The API key "${name}" lacks the ${scope} scope, which ${needs}.`);
}

/**
 * Returns the pipelines that the API key of a metrics request is limited to. Returns null if the key is not limited, or
 * if no API key was sent and metrics need no key.
 *
 * @throws RecalldError key_missing, key_invalid, key_lacks_scope, attempts_limited
 */
export async function limitOfMetrics(
  request: FastifyRequest,
  { checkKey }: AuthenticationSettings,
  needsKey: boolean,
): Promise<readonly string[] | null> {
  const text = bearerOf(request);
  // Ignores other kinds of tokens, for example from a proxy, because recalld cannot check them.
  if (text === null || !text.startsWith(API_KEY_PREFIX)) {
    if (!needsKey) return null;
    const message =
      'Metrics need an API key with the read scope (server.metrics_protected): send "Authorization: Bearer KEY".';
    throw new RecalldError('key_missing', message);
  }
  const key = await checkKey(text, addressOf(request));
  if (key === null) throw new RecalldError('key_invalid', 'The API key is unknown or revoked.');
  assertAllows(key, 'read', 'metrics need');
  return key.pipelines;
}

function bearerOf(request: FastifyRequest): string | null {
  const header = request.headers.authorization;
  if (header === undefined) return null;
  const [scheme, key] = header.split(' ');
  return scheme?.toLowerCase() === 'bearer' && key !== undefined && key !== '' ? key : '';
}

const forwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip'];
const localNames = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Protects a daemon that accepts every local caller. Rejects calls to the routes of `app` that name another host, or
 * that come through a proxy or from a page on another host. With DNS rebinding or a form, any web page can make a
 * browser on the same machine send requests to 127.0.0.1, but their Host or Origin header names the foreign host.
 */
export function refuseForeignPages(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers }, _reply, done) => done(refusalOf(headers)));
}

function refusalOf(headers: IncomingHttpHeaders): RecalldError | undefined {
  const { host, origin } = headers;
  if (forwarded.some((name) => headers[name] !== undefined)) {
    return new RecalldError(
      'host_refused',
      'This daemon accepts calls without a key only from its own machine, and this call came through a proxy:' +
        ' add the proxy to server.trusted_proxies, and use API keys.',
    );
  }
  if (host !== undefined && !isLocalHost(host)) {
    return new RecalldError(
      'host_refused',
      'This daemon accepts calls without a key only from its own machine, and the Host header names another machine:' +
        ' use the address 127.0.0.1, or set server.host and use API keys.',
    );
  }
  if (origin !== undefined && !isLocal(origin)) {
    return new RecalldError('host_refused', 'Pages on other sites may not call this daemon.');
  }
  return undefined;
}

let lastLocal = '';

/** Caches only one host, because nearly every call has the same Host header as the previous call. */
function isLocalHost(host: string): boolean {
  if (host === lastLocal) return true;
  if (!isLocal(`http://${host}`)) return false;
  lastLocal = host;
  return true;
}

function isLocal(address: string): boolean {
  return URL.canParse(address) && localNames.has(new URL(address).hostname);
}
