/** HTTP services with special requirements: GraphQL, mutual TLS, and texts for a reranker. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { never, openHttpRetriever, openRetriever, type RetrieverInput } from '../../../support/connectors.ts';
import { documents, type FaultServer, json, startFaultServer } from '../../../support/fault-server.ts';

let server: FaultServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const request = { text: 'how do I "quote"', k: 2, tags: { lang: 'en' } };

describe('a GraphQL service', () => {
  const query = 'query Find($q: String!, $n: Int!) { search(text: $q, first: $n) { edges { rank node { id } } } }';
  const overGraphQl: Partial<RetrieverInput<'http'>> = {
    body: { query, variables: { q: '{{text}}', n: '{{k}}' } },
    results: { list: 'data.search.edges', id: 'node.id', score: 'rank' },
  };

  it('is queried with a constant query and filled-in variables', async () => {
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
    expect(await openHttpRetriever(server.url, overGraphQl).retrieve(request, never)).toMatchObject({
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

  it('that reports errors with status 200 fails the query', async () => {
    server = await startFaultServer(json({ data: null, errors: [{ message: 'no field search' }] }));
    expect(await openHttpRetriever(server.url, overGraphQl).retrieve(request, never)).toMatchObject({
      kind: 'error',
      code: 'no_result_list',
    });
  });
});

describe('a service that returns texts', () => {
  it('is parsed for texts only if a reranker needs them', async () => {
    server = await startFaultServer(json({ results: [{ id: 'a', score: 1, passage: 'one' }] }));
    const retriever = openHttpRetriever(server.url, {
      results: { list: 'results', id: 'id', score: 'score', text: 'passage' },
    });
    expect(await retriever.retrieve({ ...request, withText: true }, never)).toMatchObject({
      documents: [{ id: 'a', score: 1, text: 'one' }],
    });
    expect(await retriever.retrieve(request, never)).toMatchObject({ documents: [{ id: 'a', score: 1 }] });
    expect(JSON.stringify(await retriever.retrieve(request, never))).not.toContain('one');
  });
});

describe('a first stage of a reranker', () => {
  it('is named by its own path in the config', async () => {
    const staged = (url: string, changes: Partial<RetrieverInput<'http'>> = {}) =>
      openRetriever({
        kind: 'rerank',
        of: { kind: 'http', url, results: { text: 'text' }, ...changes },
        reranker: { kind: 'tei', url: 'http://reranker/' },
      });
    expect(() => staged('ftp://rag/')).toThrow('retriever.of.url: the URL has the scheme ftp:');
    expect(() => staged('http://rag/', { body: '{{x}}' })).toThrow('retriever.of.body: {{x}}');
    expect(() => staged('http://rag/', { headers: { te: 'x' } })).toThrow('retriever.of.headers.te:');
    server = await startFaultServer(documents([{ id: null }]));
    expect(await staged(server.url).retrieve(request, never)).toMatchObject({
      message: expect.stringContaining('retriever.of.results.id is id'),
    });
  });
});

describe('a service with mutual TLS', () => {
  let folder = '';
  let secure: Server;
  let url = '';
  const file = (name: string): string => path.join(folder, name);
  const pem = (name: string): string => readFileSync(file(name), 'utf8');
  const ours = () => ({ cert_file: file('ours.pem'), key_file: file('ours.key') });

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'recalld-mtls-'));
    for (const name of ['service', 'ours']) {
      execFileSync(
        'openssl',
        ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'].concat(
          ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'],
          ['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`)],
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

  it("answers if the service and recalld trust each other's certificates", async () => {
    const tls = { ca_file: file('service.pem'), client: ours() };
    expect(await openHttpRetriever(url, { tls }).retrieve(request, never)).toMatchObject({
      kind: 'documents',
      documents: [{ id: 'a' }],
    });
  });

  it('is rejected if recalld does not trust the service certificate', async () => {
    const tls = { client: ours() };
    expect(await openHttpRetriever(url, { tls }).retrieve(request, never)).toMatchObject({ code: 'tls_error' });
  });

  it('rejects recalld without a client certificate', async () => {
    const answer = await openHttpRetriever(url, { tls: { ca_file: file('service.pem') } }).retrieve(request, never);
    expect(answer).toMatchObject({ kind: 'error' });
  });
});
