import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpServiceConfig } from '../../../../src/platform/config/connection.ts';
import { createJsonApi, type ServiceIdentity } from '../../../../src/platform/outbound/json-api.ts';
import { MAX_RETRY_DELAY_MS, retryDelayMs } from '../../../../src/platform/outbound/send.ts';
import {
  type FaultServer,
  hang,
  inTurn,
  json,
  type Responder,
  raw,
  startFaultServer,
  status,
  tooManyRequests,
} from '../../../support/fault-server.ts';
import { waitFor } from '../../../support/wait-for.ts';

const now = Date.parse('2026-01-01T00:00:00Z');

describe('the wait before a retry', () => {
  it.each([
    ['doubles its range with each attempt', 3, 100, null, 0.5, 200],
    ['can be 0', 1, 100, null, 0, 0],
    ['honours a number of seconds, and adds jitter', 1, 100, '2', 0.5, 2050],
    ['honours a date', 1, 100, 'Thu, 01 Jan 2026 00:00:05 GMT', 0, 5000],
    ['treats a past date as now', 1, 100, 'Wed, 31 Dec 2025 00:00:00 GMT', 0, 0],
    ['ignores an invalid Retry-After', 1, 100, 'soon', 0.5, 50],
    ['ignores a negative Retry-After', 1, 100, '-5', 0, 0],
    ['can be 30 s if the service requests it', 1, 100, '30', 0.9, 30_000],
    ['is null beyond 30 s', 1, 100, '31', 0, null],
    ['is null for a date beyond 30 s', 1, 100, 'Thu, 01 Jan 2026 01:00:00 GMT', 0, null],
  ] as const)('%s', (_name, attempt, backoffMs, retryAfter, random, expected) => {
    expect(retryDelayMs(attempt, backoffMs, retryAfter, random, now)).toBe(expected);
  });

  it('never exceeds 30 s, and is never shorter than the service requests', () => {
    const seconds = fc.integer({ min: 0, max: 30 });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), seconds, random, (attempt, asked, random) => {
        const waitMs = retryDelayMs(attempt, 250, String(asked), random, now);
        expect(waitMs).toBeGreaterThanOrEqual(asked * 1000);
        expect(waitMs).toBeLessThanOrEqual(MAX_RETRY_DELAY_MS);
      }),
    );
  });
});

let server: FaultServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const qdrant = { service: 'Qdrant', configField: 'vector_store' };

async function apiOver(
  responder: Responder,
  changes: Partial<HttpServiceConfig> = {},
  identity: Partial<ServiceIdentity> = {},
) {
  server = await startFaultServer(responder);
  const headers = { 'api-key': 'a-secret-key' };
  return createJsonApi(
    { url: server.url, headers, timeout_ms: 1000, retries: 2, ...changes },
    { ...qdrant, ...identity },
  );
}

const search = { method: 'POST', path: '/collections/c/query', body: { k: 1 }, purpose: 'search' } as const;
const never = new AbortController().signal;
/** Shorter than the 4 s after which idle connections close in any case. */
const beforeIdleOnesClose = { timeoutMs: 3000 };

describe('a call to a JSON service', () => {
  it('sends the body and returns the response', async () => {
    const api = await apiOver(json({ result: [1, 12345678901234567890n.toString()] }));
    const answer = await api.call({ ...search, query: { timeout: '3' } }, never);
    expect(answer).toMatchObject({ kind: 'answer', json: { result: [1, '12345678901234567890'] } });
    expect(server?.requests[0]).toMatchObject({
      method: 'POST',
      target: '/collections/c/query?timeout=3',
      body: '{"k":1}',
    });
    expect(server?.requests[0]?.headers).toMatchObject({
      'api-key': 'a-secret-key',
      'content-type': 'application/json',
    });
  });

  it('sends a query parameter once for each of its values', async () => {
    const api = await apiOver(json({}));
    await api.call({ method: 'GET', path: '/fetch', query: { ids: ['a&b', 'c'], n: '1' }, purpose: 'search' }, never);
    expect(server?.requests[0]?.target).toBe('/fetch?ids=a%26b&ids=c&n=1');
  });

  it('keeps the path of the configured address', async () => {
    const api = await apiOver(json({}), {});
    const behindProxy = createJsonApi(
      { url: `${server?.url}/proxy/`, headers: {}, timeout_ms: 1000, retries: 0 },
      qdrant,
    );
    await api.call({ method: 'GET', path: '/a', purpose: 'search' }, never);
    await behindProxy.call({ method: 'GET', path: '/a', purpose: 'search' }, never);
    expect(server?.requests.map(({ target }) => target)).toEqual(['/a', '/proxy/a']);
  });

  it('is retried if the service is busy, but not if the service rejects it', async () => {
    const busy = await apiOver(inTurn(tooManyRequests('0'), status(503), json({ ok: true })));
    expect(await busy.call(search, never)).toMatchObject({ kind: 'answer', json: { ok: true } });
    expect(server?.requests).toHaveLength(3);
    await server?.close();
    const refusing = await apiOver(status(401));
    expect(await refusing.call(search, never)).toMatchObject({
      kind: 'failed',
      code: 'http_401',
      status: 401,
      message: `Qdrant search failed: ${server?.url} returned 401 Unauthorized; check vector_store.headers.`,
    });
    expect(server?.requests).toHaveLength(1);
  });

  it.each([
    [400, /returned 400 Bad Request\.$/],
    [401, /; check vector_store\.api_key\.$/],
    [403, /; check vector_store\.api_key\.$/],
    [404, /; check vector_store\.base_url\.$/],
    [405, /; check vector_store\.base_url\.$/],
    [422, /returned 422 Unprocessable Entity\.$/],
  ])('names the config key, if any, that can cause status %d', async (code, message) => {
    const api = await apiOver(status(code), {}, { urlKey: 'base_url', credentialsKey: 'api_key' });
    expect(await api.call(search, never)).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(message) as unknown,
    });
  });

  it('sends the query parameters of the address with every call', async () => {
    const api = await apiOver(json({}));
    const versioned = createJsonApi(
      { url: `${server?.url}/base?api-version=1`, headers: {}, timeout_ms: 1000, retries: 0 },
      qdrant,
    );
    await api.call(search, never);
    await versioned.call({ method: 'GET', path: '/a', query: { b: '2' }, purpose: 'search' }, never);
    expect(server?.requests.at(-1)?.target).toBe('/base/a?api-version=1&b=2');
  });

  it('ends at its timeout', async () => {
    const api = await apiOver(hang(), { timeout_ms: 50 });
    expect(await api.call(search, never)).toMatchObject({
      kind: 'failed',
      code: 'timeout',
      message: `Qdrant search failed: ${server?.url} did not respond within 50 ms; raise vector_store.timeout_ms or check the load on the service.`,
    });
  });

  it('can wait for a multiple of the timeout', async () => {
    const api = await apiOver(hang(), { timeout_ms: 10 });
    expect(await api.call({ ...search, patience: 5 }, never)).toMatchObject({
      code: 'timeout',
      message: `Qdrant search failed: ${server?.url} did not respond within 50 ms; raise vector_store.timeout_ms or check the load on the service.`,
    });
  });

  it('reports a response that is not JSON', async () => {
    const api = await apiOver(raw('<html>'));
    expect(await api.call(search, never)).toMatchObject({ kind: 'failed', code: 'not_json' });
  });

  it('does not parse a response that is nested too deeply', async () => {
    const api = await apiOver(raw('['.repeat(4_000_000)));
    expect(await api.call(search, never)).toMatchObject({
      kind: 'failed',
      code: 'too_deep',
      message: `Qdrant search failed: ${server?.url} returned JSON that nests arrays and objects more than 100 levels deep; check vector_store.url.`,
    });
  });

  it('rejects with the reason of an abort while it waits for the rate limit', async () => {
    const api = await apiOver(json({}), { max_per_second: 0.001 });
    await api.call(search, never);
    const stop = new AbortController();
    const waiting = api.call(search, stop.signal);
    stop.abort(new Error('the daemon stops'));
    await expect(waiting).rejects.toThrow('the daemon stops');
    expect(server?.requests).toHaveLength(1);
  });

  it('leaves no idle or active connection open after the API is closed', async () => {
    const api = await apiOver(json({}));
    await api.call(search, never);
    expect(server?.openConnections).toBe(1);
    const pending = api.call(search, never);
    api.close();
    expect(await pending).toMatchObject({ kind: 'answer' });
    await waitFor(() => server?.openConnections === 0, beforeIdleOnesClose);
    await api.call(search, never);
    api.close();
    await waitFor(() => server?.openConnections === 0, beforeIdleOnesClose);
  });

  it.each([
    ['not a url', 'not an absolute URL'],
    ['ftp://store', 'the scheme ftp:'],
    ['http://user:password@store', 'contains a user name or a password'],
  ])('rejects the address %s', (url, reason) => {
    const create = () => createJsonApi({ url, headers: {}, timeout_ms: 1, retries: 0 }, qdrant);
    expect(create).toThrow(reason);
    expect(create).not.toThrow('password@');
  });
});
