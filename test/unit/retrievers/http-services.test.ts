/** Services that speak HTTP in a way of their own: GraphQL, certificates on both sides, texts for a reranker. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createHttpRetriever, type HttpRetrieverSettings } from '../../../src/retrievers/http.ts';
import { documents, type FaultServer, json, startFaultServer } from '../../support/fault-server.ts';
import { never } from '../../support/json-api.ts';

let server: FaultServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

function aRetriever(url: string, changes: Partial<HttpRetrieverSettings> = {}) {
  return createHttpRetriever({
    url,
    method: 'POST',
    headers: {},
    body: { query: '{{text}}', k: '{{k}}' },
    results: { list: 'results', id: 'id', score: 'score' },
    timeoutMs: 10_000,
    retries: 0,
    ...changes,
  });
}

const request = { text: 'how do I "quote"', k: 2, tags: { lang: 'en' } };

describe('a GraphQL service', () => {
  const query = 'query Find($q: String!, $n: Int!) { search(text: $q, first: $n) { edges { rank node { id } } } }';
  const overGraphQl: Partial<HttpRetrieverSettings> = {
    body: { query, variables: { q: '{{text}}', n: '{{k}}' } },
    results: { list: 'data.search.edges', id: 'node.id', score: 'rank' },
  };

  it('is asked by template: the query stays, the variables are filled in', async () => {
    server = await startFaultServer(
      json({
        data: {
          search: {
            edges: [
              { rank: 2.5, node: { id: 'a' } },
              { rank: 1, node: { id: 'b' } },
            ],
          },
        },
      }),
    );
    expect(await aRetriever(server.url, overGraphQl).retrieve(request, never)).toMatchObject({
      documents: [
        { id: 'a', score: 2.5 },
        { id: 'b', score: 1 },
      ],
    });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toStrictEqual({
      query,
      variables: { q: 'how do I "quote"', n: 2 },
    });
  });

  it('that answers errors with status 200 is an error', async () => {
    server = await startFaultServer(json({ data: null, errors: [{ message: 'no field search' }] }));
    expect(await aRetriever(server.url, overGraphQl).retrieve(request, never)).toMatchObject({
      kind: 'error',
      code: 'no_result_list',
    });
  });
});

describe('a service that gives texts', () => {
  it('is read for them only when a reranker needs them', async () => {
    server = await startFaultServer(json({ results: [{ id: 'a', score: 1, passage: 'one' }] }));
    const retriever = aRetriever(server.url, {
      results: { list: 'results', id: 'id', score: 'score', text: 'passage' },
    });
    expect(await retriever.retrieve({ ...request, withText: true }, never)).toMatchObject({
      documents: [{ id: 'a', score: 1, text: 'one' }],
    });
    expect(await retriever.retrieve(request, never)).toMatchObject({ documents: [{ id: 'a', score: 1 }] });
    expect(JSON.stringify(await retriever.retrieve(request, never))).not.toContain('one');
  });
});

describe('a first stage', () => {
  it('is named by its own place in the config', async () => {
    const changes = { configField: 'retriever.of' };
    expect(() => aRetriever('ftp://rag/', changes)).toThrow('retriever.of.url: the URL has the scheme ftp:');
    expect(() => aRetriever('http://rag/', { ...changes, body: '{{x}}' })).toThrow('retriever.of.body: {{x}}');
    expect(() => aRetriever('http://rag/', { ...changes, headers: { te: 'x' } })).toThrow('retriever.of.headers.te:');
    server = await startFaultServer(documents([{ id: null }]));
    expect(await aRetriever(server.url, changes).retrieve(request, never)).toMatchObject({
      message: expect.stringContaining('retriever.of.results.id is id'),
    });
  });
});

describe('a service behind TLS with certificates on both sides', () => {
  let folder = '';
  let secure: Server;
  let url = '';
  const pem = (name: string): string => readFileSync(path.join(folder, name), 'utf8');

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'recalld-mtls-'));
    for (const name of ['service', 'ours']) {
      const file = path.join(folder, name);
      execFileSync(
        'openssl',
        ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'].concat(
          ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'],
          ['-keyout', `${file}.key`, '-out', `${file}.pem`],
        ),
        { stdio: 'pipe' },
      );
    }
    secure = createServer(
      {
        cert: pem('service.pem'),
        key: pem('service.key'),
        ca: pem('ours.pem'),
        requestCert: true,
        rejectUnauthorized: true,
      },
      (_request, response) => {
        response.setHeader('content-type', 'application/json');
        response.end('{"results":[{"id":"a"}]}');
      },
    );
    secure.listen(0, '127.0.0.1');
    await once(secure, 'listening');
    const address = secure.address();
    url = `https://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/`;
  });
  afterAll(() => {
    secure.close();
    secure.closeAllConnections();
    rmSync(folder, { recursive: true });
  });

  it('answers when it trusts our certificate and we trust its authority', async () => {
    const tls = { ca: pem('service.pem'), cert: pem('ours.pem'), key: pem('ours.key') };
    expect(await aRetriever(url, { tls }).retrieve(request, never)).toMatchObject({
      kind: 'documents',
      documents: [{ id: 'a' }],
    });
  });

  it('is refused when we do not trust it', async () => {
    const tls = { cert: pem('ours.pem'), key: pem('ours.key') };
    expect(await aRetriever(url, { tls }).retrieve(request, never)).toMatchObject({ code: 'tls_error' });
  });

  it('refuses us without a certificate of ours', async () => {
    const answer = await aRetriever(url, { tls: { ca: pem('service.pem') } }).retrieve(request, never);
    expect(answer).toMatchObject({ kind: 'error' });
  });
});
