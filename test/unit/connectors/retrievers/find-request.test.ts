import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findRequest } from '../../../../src/connectors/retrievers/find-request.ts';
import { never } from '../../../support/connectors.ts';
import {
  type FaultServer,
  json,
  type ReceivedRequest,
  type Responder,
  startFaultServer,
  status,
} from '../../../support/fault-server.ts';

let server: FaultServer;
beforeEach(async () => {
  server = await startFaultServer(status(404));
});
afterEach(() => server.close());

const texts = ['how much is it', 'where is the door'] as const;

/** A service that accepts only requests in one format, and returns as many results as requested. */
const service =
  (read: (request: ReceivedRequest) => { readonly text: unknown; readonly k?: unknown }): Responder =>
  (request, response) => {
    const { text, k = 5 } = read(request);
    if (typeof text !== 'string') return status(422)(request, response);
    const items = Array.from({ length: Number(k) }, (_, rank) => ({ id: `${text.length}-${rank}`, score: -rank }));
    return json({ items })(request, response);
  };
const bodyOf = ({ body }: ReceivedRequest) => (body === '' ? {} : (JSON.parse(body) as Record<string, unknown>));
const paramsOf = ({ target }: ReceivedRequest) => new URL(target, 'http://x').searchParams;

describe('the request format of a service', () => {
  it.each<[form: string, responder: Responder, expected: object]>([
    [
      'other names for the query and for k',
      service((request) => ({ text: bodyOf(request)['question'], k: bodyOf(request)['limit'] })),
      { method: 'POST', body: { question: '{{text}}', limit: '{{k}}' }, knowsK: true },
    ],
    [
      'k required',
      service((request) =>
        bodyOf(request)['k'] === undefined
          ? { text: null }
          : { text: bodyOf(request)['query'], k: bodyOf(request)['k'] },
      ),
      { body: { query: '{{text}}', k: '{{k}}' }, knowsK: true },
    ],
    [
      'number of results not adjustable',
      service((request) => ({ text: bodyOf(request)['query'] })),
      { body: { query: '{{text}}' }, knowsK: false },
    ],
    [
      'query in the address',
      service((request) => ({ text: paramsOf(request).get('q'), k: paramsOf(request).get('size') ?? 5 })),
      { method: 'GET', body: null, knowsK: true },
    ],
  ])('is detected: %s', async (_, responder, expected) => {
    server.respondWith(responder);
    const found = await findRequest(`${server.url}/search`, {}, texts, never);
    expect(found).toMatchObject({
      kind: 'found',
      request: { ...expected, knowsText: true, results: { list: 'items' } },
    });
  });

  it('is not one that returns the same answer to every query, unless no other format works', async () => {
    const deaf = json({ items: [{ id: 'always' }] });
    server.respondWith((request, response) =>
      bodyOf(request)['question'] === undefined
        ? deaf(request, response)
        : service(() => ({ text: bodyOf(request)['question'] }))(request, response),
    );
    expect(await findRequest(server.url, {}, texts, never)).toMatchObject({
      request: { body: { question: '{{text}}' }, knowsText: true },
    });
    server.respondWith(deaf);
    expect(await findRequest(server.url, {}, texts, never)).toMatchObject({
      request: { body: { query: '{{text}}' }, knowsText: false },
    });
  });

  it('is probed with the configured headers and fewer than 35 requests, and an unreachable service is reported', async () => {
    expect(await findRequest(server.url, { authorization: 'Bearer x' }, texts, never)).toMatchObject({
      kind: 'not_found',
    });
    expect(server.requests.every(({ headers }) => headers['authorization'] === 'Bearer x')).toBe(true);
    expect(server.requests.length).toBeLessThan(35);
    await server.close();
    expect(await findRequest(server.url, {}, texts, never)).toMatchObject({
      kind: 'not_found',
      problem: 'unreachable',
    });
  });
});

describe('a service that returns no list of results', () => {
  const html: Responder = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end('<!doctype html><title>Sign in</title>');
  };
  const redirect: Responder = (_, response) => {
    response.writeHead(301, { location: '/elsewhere' });
    response.end();
  };

  it.each<[problem: string, responder: Responder, mostRequests: number]>([
    ['missing', status(404), 50],
    ['unauthorized', status(401), 1],
    ['unauthorized', status(403), 1],
    ['limited', status(429), 1],
    ['redirect', redirect, 1],
    ['html', html, 50],
    ['empty', json({ results: [], total: 0 }), 50],
    ['other', json({ answer: 'yes' }), 50],
    ['other', status(500), 50],
  ])('is reported as %s, without unnecessary requests', async (problem, responder, mostRequests) => {
    server.respondWith(responder);
    expect(await findRequest(`${server.url}/search`, {}, texts, never)).toMatchObject({ kind: 'not_found', problem });
    expect(server.requests.length).toBeLessThanOrEqual(mostRequests);
  });

  it('is reported by its most informative answer', async () => {
    server.respondWith((request, response) =>
      (request.method === 'GET' ? json({ hits: [] }) : status(405))(request, response),
    );
    expect(await findRequest(`${server.url}/search`, {}, texts, never)).toMatchObject({ problem: 'empty' });
  });
});
