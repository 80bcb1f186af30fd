import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createProxy } from 'proxy';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HttpServiceConfig } from '../../../../src/platform/config/connection.ts';
import { proxyFor } from '../../../../src/platform/outbound/exchange.ts';
import { createJsonApi } from '../../../../src/platform/outbound/json-api.ts';
import { selfSigned } from '../../../support/redis-fleet.ts';

const never = new AbortController().signal;

async function listen(server: Server, scheme = 'http'): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `${scheme}://localhost:${(server.address() as AddressInfo).port}`;
}

/** Starts a proxy that records the method and the target of each request. */
async function aProxy(login?: string): Promise<{ readonly address: URL; readonly asked: readonly string[] }> {
  const proxy = createProxy(createServer());
  const asked: string[] = [];
  const hear = ({ method, url }: { readonly method?: string; readonly url?: string }) => {
    asked.push(`${method} ${url}`);
  };
  proxy.prependListener('request', hear);
  proxy.prependListener('connect', hear);
  if (login !== undefined) {
    const expected = `Basic ${Buffer.from(login).toString('base64')}`;
    proxy.authenticate = ({ headers }) => headers['proxy-authorization'] === expected;
  }
  return { address: new URL(await listen(proxy)), asked };
}

async function ask(url: string, settings: Partial<HttpServiceConfig>) {
  const config = { url, headers: {}, timeout_ms: 5000, retries: 0, ...settings };
  const api = createJsonApi(config, { service: 'Qdrant', configField: 'vector_store' });
  onTestFinished(() => api.close());
  return api.call({ method: 'GET', path: '/collections', purpose: 'search' }, never);
}

const aService = () => listen(createServer((_, response) => response.end('{"from":"the service"}')));

describe('a service behind a proxy', () => {
  it('is requested through the proxy', async () => {
    const [service, proxy] = await Promise.all([aService(), aProxy()]);
    const answer = await ask(service, { proxy: proxy.address.href });
    expect(answer).toMatchObject({ kind: 'answer', json: { from: 'the service' } });
    expect(proxy.asked).toEqual([`GET ${service}/collections`]);
  });

  it('is requested over TLS, so that the proxy sees only the host', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'recalld-proxy-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const files = selfSigned(folder, 'localhost');
    const [cert, key] = [readFileSync(files.cert, 'utf8'), readFileSync(files.key, 'utf8')];
    const service = await listen(
      createSecureServer({ cert, key }, (_, response) => response.end('{"from":"the service"}')),
      'https',
    );
    const proxy = await aProxy();
    const answer = await ask(service, { proxy: proxy.address.href, tls: { ca_file: files.cert } });
    expect(answer).toMatchObject({ kind: 'answer', json: { from: 'the service' } });
    expect(proxy.asked).toEqual([`CONNECT ${new URL(service).host}`]);
    const distrusted = await ask(service, { proxy: proxy.address.href });
    expect(distrusted).toMatchObject({ kind: 'failed', code: 'tls_error' });
  });

  it("is reached with the credentials in the proxy's address; without them the error names the setting", async () => {
    const [service, proxy] = await Promise.all([aService(), aProxy('ops:secret')]);
    const withLogin = new URL(proxy.address);
    withLogin.username = 'ops';
    withLogin.password = 'secret';
    expect(await ask(service, { proxy: withLogin.href })).toMatchObject({ kind: 'answer' });
    const refused = await ask(service, { proxy: proxy.address.href });
    expect(refused).toMatchObject({ kind: 'failed', message: expect.stringContaining('check vector_store.proxy') });
  });

  it('cannot be distinguished from its proxy if neither responds', async () => {
    const service = await aService();
    const answer = await ask(service, { proxy: 'http://ops:secret@127.0.0.1:1' });
    expect(answer).toMatchObject({
      kind: 'failed',
      code: 'connection_refused',
      message: expect.stringContaining(`${service}, or its proxy 127.0.0.1:1, refused the connection`),
    });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });
});

describe('the proxy of the environment', () => {
  it.each([
    ['https://rag.example', 'http://secure:1/'],
    ['http://rag.example', 'http://plain:2/'],
    ['http://rag.internal', null],
  ])('for %s is %s', (url, expected) => {
    vi.stubEnv('HTTPS_PROXY', 'http://secure:1');
    vi.stubEnv('HTTP_PROXY', 'http://plain:2');
    vi.stubEnv('NO_PROXY', '.internal');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(proxyFor('environment', url)?.href ?? null).toBe(expected);
    expect(proxyFor(undefined, url)).toBe(null);
  });
});
