/** Hostile requests to every endpoint never cause a crash or a 500. */
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endpoints } from '../../src/app/http/openapi.ts';
import { aFolder, type Daemon, startRecalld } from '../support/recalld.ts';
import { wellFormed } from '../support/well-formed.ts';

let daemon: Daemon;

beforeAll(async () => {
  const config = `
server: {port: 0, max_requests_per_minute: 1000000}
pipelines:
  - {name: docs, retriever: {kind: http, url: "http://127.0.0.1:9/search"}, sampling: {rate: 1, max_per_minute: 1000000}}
`;
  const folder = await aFolder({ 'recalld.yaml': config }, atEnd);
  daemon = await startRecalld(['serve'], folder, {}, atEnd);
});

const cleanups: (() => Promise<void>)[] = [];

function atEnd(clean: () => Promise<void>): void {
  cleanups.unshift(clean);
}

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

async function send(
  where: string,
  body: Uint8Array<ArrayBuffer> | string,
  headers: Record<string, string> = {},
): Promise<number> {
  const request = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
  const response = await fetch(`${daemon.url}${where}`, request).catch(cutOff);
  if (response === null) return 413;
  const text = await response.text();
  expect(text).not.toMatch(/^ {4}at /m);
  return response.status;
}

/** recalld responds to a body that is far too large, and closes the connection before the body ends. */
function cutOff(error: unknown): null {
  const { cause } = error as { cause?: { code?: string } };
  expect(['EPIPE', 'ECONNRESET']).toContain(cause?.code);
  return null;
}

const refusals = [400, 413, 415, 422];
const intake = ['/v1/queries', '/v1/feedback'];
const gzip = { 'content-encoding': 'gzip' };

describe('a page on another site in a browser on this machine, or a caller behind a proxy', () => {
  const call = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request(`${daemon.url}/v1/pipelines`, { headers }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode));
      });
      asked.once('error', reject);
      asked.end();
    });

  it.each([
    ['by a name that resolves to this machine', { host: 'evil.test' }],
    ['by such a name with a port', { host: 'evil.test:8321' }],
    ['from its own origin', { origin: 'https://evil.test' }],
    ['from a sandboxed frame', { origin: 'null' }],
    ['through a proxy that sends X-Forwarded-For', { 'x-forwarded-for': '203.0.113.9' }],
    ['through a proxy that sends Forwarded', { forwarded: 'for=203.0.113.9' }],
    ['through a proxy that claims a local client', { 'x-real-ip': '127.0.0.1' }],
  ])('reads nothing: %s', async (_name, headers) => {
    expect(await call(headers)).toBe(403);
  });

  it.each([
    ['at localhost', { host: 'localhost' }],
    ['from the console', { origin: 'http://127.0.0.1:8321' }],
  ])('is not confused with a local caller %s', async (_name, headers) => {
    expect(await call(headers)).toBe(200);
  });
});

describe('hostile requests', () => {
  const bodies: readonly [string, string | Uint8Array<ArrayBuffer>, Record<string, string>?][] = [
    ['an empty body', ''],
    ['incomplete JSON', '{"id": "q1", "pipeline": '],
    ['a number', '5'],
    ['null', 'null'],
    ['a string', '"hello"'],
    ['deep nesting', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['prototype pollution', '{"__proto__": {"admin": true}, "id": "q1", "pipeline": "docs", "results": []}'],
    ['a constructor', '{"constructor": {"prototype": {"admin": true}}, "id": "q1", "pipeline": "docs", "results": []}'],
    [
      '1,001 items',
      JSON.stringify(Array.from({ length: 1001 }, (_, i) => ({ id: `q${i}`, pipeline: 'docs', results: [] }))),
    ],
    [
      '100,000 results',
      JSON.stringify({
        id: 'q1',
        pipeline: 'docs',
        results: Array.from({ length: 100_000 }, () => ({ id: 'd' })),
      }),
    ],
    [
      'a vector with 100,000 dimensions',
      JSON.stringify({
        id: 'q1',
        pipeline: 'docs',
        results: [],
        embedding: Array.from({ length: 100_000 }, () => 1),
      }),
    ],
    [
      'a text of ten megabytes',
      JSON.stringify({ id: 'q1', pipeline: 'docs', results: [], text: 'x'.repeat(10_000_000) }),
    ],
    ['a body of forty megabytes', 'x'.repeat(40_000_000)],
    ['a body declared as gzip that is not gzip', 'not gzip at all', gzip],
    ['truncated gzip', gzipSync(JSON.stringify({ id: 'q1' })).subarray(0, 12), gzip],
    ['a gzip bomb', gzipSync(Buffer.alloc(200_000_000, 0x20)), gzip],
    ['an unsupported encoding', '{}', { 'content-encoding': 'br' }],
    ['XML', '<query/>', { 'content-type': 'application/xml' }],
    ['bytes that are not text', new Uint8Array([0xff, 0xfe, 0x00, 0x80])],
  ];
  it.each(bodies)('are refused: %s', async (_, body, headers) => {
    for (const endpoint of intake) expect(refusals).toContain(await send(endpoint, body, headers));
  });

  it('are refused for any JSON, and the daemon stays up', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.constantFrom(...intake), async (json, endpoint) => {
        // An empty list is a valid batch.
        const isEmpty = json.replaceAll(/\s/g, '') === '[]';
        expect(isEmpty ? [202] : refusals).toContain(await send(endpoint, json));
      }),
      { numRuns: 200 },
    );
  });

  it('are accepted or refused, but never cause an error, if one field of a valid query is any JSON', async () => {
    const good = {
      id: 'q1',
      pipeline: 'docs',
      text: 'hello',
      results: [{ id: 'd1', score: 1 }],
      top_k: 5,
      segments: { a: 'b' },
    };
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(good)), fc.jsonValue(), async (field, value) => {
        expect([202, ...refusals]).toContain(await send('/v1/queries', JSON.stringify({ ...good, [field]: value })));
      }),
      { numRuns: 200 },
    );
  });

  it('over OpenTelemetry are accepted or refused, and a gzip bomb is refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom('/v1/traces', '/v1/logs'),
        fc.constantFrom('application/x-protobuf', 'application/json'),
        async (body, endpoint, type) => {
          expect([200, ...refusals]).toContain(await send(endpoint, body, { 'content-type': type }));
        },
      ),
      { numRuns: 200 },
    );
    expect(refusals).toContain(
      await send('/v1/traces', gzipSync(Buffer.alloc(200_000_000)), {
        ...gzip,
        'content-type': 'application/x-protobuf',
      }),
    );
  });

  it('in paths and query strings get 200, 400 or 404', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom(
        '\0',
        '..',
        '%',
        '-1',
        '1e9',
        '9'.repeat(40),
        'NaN',
        "' or 1=1 --",
        'x'.repeat(2000),
        '__proto__',
      ),
      fc.integer().map(String),
    );
    const names = fc.constantFrom(...endpoints.flatMap(({ query }) => Object.keys(query?.shape ?? {})), 'nobody_knows');
    const request = fc.record({
      endpoint: fc.constantFrom(
        ...endpoints.flatMap(({ method, path }) => (method === 'post' ? [] : [`${method.toUpperCase()} ${path}`])),
      ),
      inPath: fc.array(
        hostile.filter((text) => text !== ''),
        { minLength: 2, maxLength: 2 },
      ),
      parameters: fc.array(fc.tuple(names, hostile), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ endpoint, inPath, parameters }) => {
        const [method = '', path = ''] = endpoint.split(' ');
        let place = 0;
        const where = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(wellFormed(inPath[place++] ?? '')));
        const search = new URLSearchParams(
          parameters.map(([name, value]): [string, string] => [name, wellFormed(value)]),
        );
        const response = await fetch(`${daemon.url}${where}?${search.toString()}`, {
          method,
        });
        await response.text();
        expect({ where, search: search.toString(), status: response.status }).toMatchObject({
          status: expect.toSatisfy((status: number) => [200, 400, 404].includes(status)) as number,
        });
      }),
      { numRuns: 600 },
    );
  });

  it('to routes that change stored data are refused for any JSON', async () => {
    const paths = endpoints.flatMap(({ method, tag, path }) =>
      method === 'post' && tag !== 'ingest' ? [path.replaceAll(/\{\w+\}/g, 'x')] : [],
    );
    const body = fc.oneof(
      fc.json(),
      fc.array(fc.jsonValue(), { maxLength: 3 }).map((queries) => JSON.stringify({ queries })),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), body, async (path, json) => {
        // No resource is named x, so a request that needs no body gets a 404.
        expect(path.includes('/x') ? [404, ...refusals] : refusals).toContain(await send(path, json));
      }),
      { numRuns: 300 },
    );
  });

  it('leave a daemon that is ready, stops with 0, and has logged no error', async () => {
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
    const { stderr, code } = await daemon.stop();
    expect(code).toBe(0);
    expect(stderr).not.toContain('"level":"error"');
  });
});
