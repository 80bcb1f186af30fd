import { getEventListeners } from 'node:events';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import { openRetriever, type RetrieverInput } from '../../../support/connectors.ts';
import {
  documents,
  type FaultServer,
  fewer,
  hang,
  hangInBody,
  html,
  huge,
  inTurn,
  json,
  raw,
  redirect,
  reset,
  share,
  slow,
  startFaultServer,
  status,
  tooManyRequests,
  truncated,
  withDuplicates,
  withNumericIds,
  withoutScores,
} from '../../../support/fault-server.ts';
import { anyText } from './any-text.ts';

const ranked = [
  { id: 'd3', score: 0.9 },
  { id: 'd1', score: 0.7 },
  { id: 'd2', score: 0.4 },
];
const request = { text: 'how do I get a refund', k: 3, tags: { course: 'ml-101' } };
const never = new AbortController().signal;

let server: FaultServer;
beforeEach(async () => {
  server = await startFaultServer(documents(ranked));
});
afterEach(async () => {
  await server.close();
});

type HttpInput = RetrieverInput<'http'>;

function settings(changes: Partial<HttpInput> = {}): HttpInput {
  return {
    kind: 'http',
    url: `${server.url}/search?key=s3cret`,
    method: 'POST',
    headers: { authorization: 'Bearer s3cret' },
    body: { query: '{{text}}', course: '{{tags.course}}', k: '{{k}}' },
    results: { list: 'results', id: 'id', score: 'score' },
    timeout_ms: 10_000,
    retries: 0,
    ...changes,
  };
}

const retrieve = (changes: Partial<HttpInput> = {}, signal = never) =>
  openRetriever(settings(changes)).retrieve(request, signal);

describe('a query', () => {
  it('is sent as configured and returns ranked documents', async () => {
    const answer = await retrieve();
    expect(answer).toStrictEqual({
      kind: 'documents',
      documents: ranked,
      latencyMs: expect.any(Number),
      attempts: 1,
    });
    const [received] = server.requests;
    expect(received).toMatchObject({ method: 'POST', target: '/search?key=s3cret' });
    expect(received?.headers).toMatchObject({
      authorization: 'Bearer s3cret',
      'content-type': 'application/json',
      accept: 'application/json',
    });
    expect(JSON.parse(received?.body ?? '')).toStrictEqual({ query: request.text, course: 'ml-101', k: 3 });
  });

  it('can be a GET with everything in the URL', async () => {
    const answer = await retrieve({ method: 'GET', body: null, url: `${server.url}/s?q={{text}}&k={{k}}` });
    expect(answer.kind).toBe('documents');
    expect(server.requests[0]).toMatchObject({
      method: 'GET',
      target: '/s?q=how%20do%20I%20get%20a%20refund&k=3',
      body: '',
    });
    expect(server.requests[0]?.headers).not.toHaveProperty('content-type');
  });

  it('arrives unchanged in the body, the URL and a header, whatever it contains', async () => {
    const retriever = openRetriever(
      settings({
        url: `${server.url}/{{text}}/search?q={{text}}`,
        headers: { 'x-query': '{{text}}' },
        body: { whole: '{{text}}', part: ['<{{text}}>'], k: '{{k}}', none: '{{tags.none}}' },
      }),
    );
    // A path segment cannot be "." or ".."; the test of path_changed covers these two values.
    const text = anyText.map((text) => `-${text}`);
    await fc.assert(
      fc.asyncProperty(text, fc.nat(), async (text, k) => {
        const answer = await retriever.retrieve({ text, k, tags: {} }, never);
        expect(answer.kind).toBe('documents');
        const received = server.requests.at(-1);
        expect(JSON.parse(received?.body ?? '')).toStrictEqual({
          whole: text,
          part: [`<${text}>`],
          k,
          none: null,
        });
        const target = new URL(received?.target ?? '', server.url);
        expect(target.searchParams.get('q')).toBe(text);
        expect(decodeURIComponent(target.pathname)).toBe(`/${text}/search`);
        expect(decodeURIComponent(String(received?.headers['x-query']))).toBe(text);
      }),
    );
  });

  it('keeps a lone surrogate in the body', async () => {
    const retriever = openRetriever(settings({ body: '{{text}}' }));
    await retriever.retrieve({ ...request, text: 'a\ud800b' }, never);
    expect(JSON.parse(server.requests[0]?.body ?? '')).toBe('a\ud800b');
  });

  it('is not sent if a tag would change the path', async () => {
    const retriever = openRetriever(settings({ url: `${server.url}/courses/{{tags.course}}/search` }));
    const answer = await retriever.retrieve({ ...request, tags: { course: '..' } }, never);
    expect(answer).toMatchObject({ kind: 'error', code: 'path_changed', attempts: 0 });
    expect(server.requests).toHaveLength(0);
  });

  it('reuses the connection of the previous query', async () => {
    const retriever = openRetriever(settings());
    for (let query = 0; query < 20; query += 1) await retriever.retrieve(request, never);
    expect(server.connections).toBe(1);
  });

  it('reuses the connection of a query that failed with a short error', async () => {
    const retriever = openRetriever(settings());
    server.respondWith(status(500));
    for (let query = 0; query < 5; query += 1) await retriever.retrieve(request, never);
    expect(server.connections).toBe(1);
  });

  it('can share the abort signal of a run with many other queries, without a leak warning', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on('warning', listen);
    const { signal } = new AbortController();
    const retriever = openRetriever(settings());
    server.respondWith(slow(20, documents(ranked)));
    const answers = await Promise.all(Array.from({ length: 60 }, () => retriever.retrieve(request, signal)));
    process.off('warning', listen);
    expect(answers.filter(({ kind }) => kind === 'documents')).toHaveLength(60);
    expect(warnings).toStrictEqual([]);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('an answer', () => {
  it.each([
    ['without scores has null scores', withoutScores(ranked), ranked.map(({ id }) => ({ id, score: null }))],
    ['with duplicates keeps them', withDuplicates(fewer(ranked, 1)), [ranked[0], ranked[0]]],
    ['with numeric ids returns them as digits', withNumericIds(fewer(ranked, 1)), [{ id: '1', score: 0.9 }]],
    ['with fewer than k documents is not padded', fewer(ranked, 1), [ranked[0]]],
    ['with more than k documents is not cut', [...ranked, { id: 'd9', score: 0 }], [...ranked, { id: 'd9', score: 0 }]],
    ['without documents is empty', [], []],
  ])('%s', async (_name, sent, expected) => {
    server.respondWith(documents(sent));
    expect(await retrieve()).toMatchObject({ kind: 'documents', documents: expected });
  });

  it('may be compressed', async () => {
    const body = gzipSync(JSON.stringify({ results: ranked }));
    server.respondWith(raw(body, { 'content-encoding': 'gzip', 'content-type': 'application/json' }));
    expect(await retrieve()).toMatchObject({ kind: 'documents', documents: ranked });
  });

  it('may start with a byte order mark', async () => {
    server.respondWith(raw(`\ufeff${JSON.stringify({ results: ranked })}`));
    expect(await retrieve()).toMatchObject({ kind: 'documents', documents: ranked });
  });

  it('has the latency of its last attempt', async () => {
    server.respondWith(inTurn(slow(200, status(500)), slow(20, documents(ranked))));
    const started = performance.now();
    const answer = await retrieve({ retries: 1 });
    const elapsedMs = performance.now() - started;
    expect(answer).toMatchObject({ kind: 'documents', attempts: 2 });
    expect(answer.latencyMs).toBeGreaterThan(15);
    expect(elapsedMs - answer.latencyMs).toBeGreaterThan(190);
  });
});

describe('a fault', () => {
  it.each([
    ['a web page', html(), 'not_json', 'returned text/html instead of JSON.'],
    ['an answer without content', status(204), 'not_json', 'returned an empty body instead of JSON.'],
    ['an object without the list', json({ hits: [], error: 'x' }), 'no_result_list', 'with the keys hits, error.'],
    ['a result without an id', documents([{ id: 'd1' }, {}]), 'missing_id', '1 of 2 results, first at rank 2'],
    ['a truncated body', truncated(), 'connection_reset', 'closed the connection before'],
    ['a connection reset', reset(), 'connection_reset', 'closed the connection before'],
    ['HTTP status 401', status(401), 'http_401', 'returned 401 Unauthorized; check retriever.headers.'],
    ['HTTP status 404', status(404), 'http_404', 'returned 404 Not Found; check retriever.url.'],
    ['HTTP status 500', status(500), 'http_500', 'returned 500 Internal Server Error.'],
    ['a nonstandard HTTP status', status(599), 'http_599', 'returned 599.'],
    ['HTTP status 304', status(304), 'http_304', 'returned 304 Not Modified.'],
    [
      'a body with broken compression',
      raw('plain', { 'content-encoding': 'gzip' }),
      'bad_encoding',
      'could not be decompressed',
    ],
    [
      'four megabytes of opening brackets',
      raw('['.repeat(4_000_000)),
      'too_deep',
      'returned JSON that nests arrays and objects more than 100 levels deep.',
    ],
    ['an endless body', huge(100_000_000), 'too_large', 'returned more than 8388608 bytes'],
  ])('such as %s is an error with a code', async (_name, fault, code, message) => {
    server.respondWith(fault);
    const answer = await retrieve();
    expect(answer).toMatchObject({ kind: 'error', code, attempts: 1 });
    expect(answer).toHaveProperty('message', expect.stringContaining(`${server.url}/search `));
    expect(answer).toHaveProperty('message', expect.stringContaining(message));
    expect(answer).not.toHaveProperty('message', expect.stringMatching(/s3cret|refund/));
  });

  it('in the size of a body is detected after decompression, and is not retried', async () => {
    const bomb = gzipSync(Buffer.alloc(9_000_000, ' '));
    server.respondWith(raw(bomb, { 'content-encoding': 'gzip' }));
    expect(await retrieve()).toMatchObject({ code: 'too_large', attempts: 1 });
    server.respondWith(huge(100_000_000));
    expect(await retrieve({ retries: 2 })).toMatchObject({ code: 'too_large', attempts: 1 });
    expect(server.requests).toHaveLength(2);
  });

  it('is connection_refused for a server that is down', async () => {
    await server.close();
    const answer = await retrieve({ retries: 2 });
    expect(answer).toMatchObject({ kind: 'error', code: 'connection_refused', attempts: 3 });
    expect(answer).toHaveProperty('message', expect.stringContaining('refused the connection'));
  });

  it('is dns_not_found for a host that does not exist', async () => {
    expect(await retrieve({ url: 'http://recalld-test.invalid/search' })).toMatchObject({
      code: 'dns_not_found',
    });
  });

  it('is tls_error for a server without TLS, without a retry', async () => {
    const answer = await retrieve({ url: server.url.replace('http:', 'https:'), retries: 2 });
    expect(answer).toMatchObject({ kind: 'error', code: 'tls_error', attempts: 1 });
  });

  it('is not_http for a server without HTTP', async () => {
    const other = createServer((socket) => socket.end('220 mail ready\r\n'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const answer = await retrieve({ url: `http://127.0.0.1:${port}/search`, retries: 2 });
    other.close();
    expect(answer).toMatchObject({ kind: 'error', code: 'not_http', attempts: 1 });
  });

  it('names the target of a redirect, which is not followed', async () => {
    server.respondWith(redirect('/search/?q=refund', 307));
    const answer = await retrieve({ retries: 2 });
    expect(answer).toMatchObject({ kind: 'error', code: 'http_redirect', attempts: 1 });
    expect(answer).toHaveProperty('message', expect.stringContaining(`set retriever.url to ${server.url}/search/.`));
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['hangs', hang()],
    ['stops in the middle of its body', hangInBody()],
  ])('of a service that %s is a timeout without a retry, and closes the connection', async (_name, fault) => {
    server.respondWith(fault);
    expect(await retrieve({ timeout_ms: 1000, retries: 3 })).toStrictEqual({
      kind: 'timeout',
      message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/search did not respond within 1000 ms\.$/),
      latencyMs: expect.any(Number),
      attempts: 1,
    });
    expect(server.requests).toHaveLength(1);
    await expect.poll(() => server.openConnections).toBe(0);
  });

  it('with an endless error page is reported by its status, and closes the connection', async () => {
    server.respondWith((_request, response) => {
      response.writeHead(503).write('one moment');
    });
    expect(await retrieve({ timeout_ms: 1000 })).toMatchObject({ kind: 'error', code: 'http_503' });
    server.respondWith((_request, response) => {
      response.writeHead(503);
      response.write('x'.repeat(1_000_000));
    });
    expect(await retrieve()).toMatchObject({ kind: 'error', code: 'http_503' });
    await expect.poll(() => server.openConnections).toBe(0);
  });

  it('of some queries is reported once for each of them', async () => {
    const retriever = openRetriever(settings());
    server.respondWith(share(0.29, status(500), documents(ranked)));
    const answers = [];
    for (let query = 0; query < 100; query += 1) answers.push(await retriever.retrieve(request, never));
    expect(answers.filter(({ kind }) => kind === 'error')).toHaveLength(29);
  });
});

describe('a retry', () => {
  it.each([
    ['429', tooManyRequests('0')],
    ['500', status(500)],
    ['502', status(502)],
    ['503', status(503, { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' })],
    ['504', status(504)],
    ['a connection reset', reset()],
    ['a truncated body', truncated()],
  ])('recovers from %s', async (_name, fault) => {
    server.respondWith(inTurn(fault, fault, documents(ranked)));
    expect(await retrieve({ retries: 2 })).toMatchObject({
      kind: 'documents',
      documents: ranked,
      attempts: 3,
    });
  });

  it.each([
    ['a client error', status(400), 'http_400'],
    ['a web page', html(), 'not_json'],
    ['a missing list', json({}), 'no_result_list'],
  ])('is not made after %s, because the result would not change', async (_name, fault, code) => {
    server.respondWith(fault);
    expect(await retrieve({ retries: 2 })).toMatchObject({ code, attempts: 1 });
    expect(server.requests).toHaveLength(1);
  });

  it('is not made more often than configured', async () => {
    server.respondWith(status(503));
    expect(await retrieve({ retries: 2 })).toMatchObject({ code: 'http_503', attempts: 3 });
    expect(server.requests).toHaveLength(3);
  });

  it('is not made if Retry-After is long', async () => {
    server.respondWith(tooManyRequests('3600'));
    const answer = await retrieve({ retries: 2 });
    expect(answer).toMatchObject({ kind: 'error', code: 'http_429', attempts: 1 });
    expect(answer).toHaveProperty('message', expect.stringContaining('Retry-After is above 30 s'));
  });

  it('succeeds with a service that was restarted between two queries', async () => {
    const retriever = openRetriever(settings({ retries: 1 }));
    await retriever.retrieve(request, never);
    const port = Number(new URL(server.url).port);
    await server.close();
    server = await startFaultServer(documents(ranked), port);
    expect(await retriever.retrieve(request, never)).toMatchObject({ kind: 'documents' });
  });
});

describe('an abort', () => {
  const reason = new Error('the run was cancelled');

  it('that precedes the call rejects the call with its reason, and sends nothing', async () => {
    await expect(retrieve({}, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(server.requests).toHaveLength(0);
  });

  it.each([
    ['the answer', hang()],
    ['the rest of a body', hangInBody()],
  ])('during the wait for %s rejects the call with its reason, and closes the connection', async (_name, fault) => {
    server.respondWith(fault);
    const controller = new AbortController();
    const call = retrieve({ retries: 5 }, controller.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await expect.poll(() => server.openConnections).toBe(0);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    expect(server.requests).toHaveLength(1);
  });

  it('during the wait for a retry rejects the call immediately with its reason', async () => {
    server.respondWith(tooManyRequests('30'));
    const controller = new AbortController();
    const listeners = () => getEventListeners(controller.signal, 'abort');
    const call = retrieve({ retries: 5 }, controller.signal);
    const [listenerOfAttempt] = listeners();
    // The wait has begun once the signal has a listener that does not belong to the attempt.
    await expect.poll(() => listeners().filter((listener) => listener !== listenerOfAttempt).length).toBe(1);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });
});

describe('settings that can never work', () => {
  it.each<[name: string, changes: Partial<HttpInput>, message: string]>([
    ['an unknown placeholder', { body: { query: '{{txt}}' } }, 'retriever.body.query: {{txt}} is not a placeholder'],
    ['a scheme that is not HTTP', { url: 'ftp://rag.internal/' }, 'retriever.url: the URL has the scheme ftp:'],
    ['a body for a GET', { method: 'GET' }, 'retriever.body: a GET request has no body'],
    ['a list that is no JMESPath', { results: { list: '[', id: 'id', score: null } }, 'retriever.results.list: "["'],
    ['a header that cannot be sent', { headers: { 'bad name': 'x' } }, 'retriever.headers.bad name: '],
  ])('are rejected when the retriever is created: %s', (_name, changes, message) => {
    expect(() => openRetriever(settings(changes))).toThrowError(RecalldError);
    expect(() => openRetriever(settings(changes))).toThrowError(message);
  });
});
