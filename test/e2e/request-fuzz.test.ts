/**
 * No request ends the process. Tests every route of the servers with broken bodies in every encoding and content type,
 * with and without a key, from clients that read the response, do not read it, or disconnect.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { endpoints } from '../../src/app/http/openapi.ts';
import { manners, type RawRequest, rawClientsOf } from '../support/raw-request.ts';
import { aFolder, type Daemon, logLines, runRecalld, startRecalld } from '../support/recalld.ts';

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

interface Target {
  readonly daemon: Daemon;
  readonly routes: readonly { readonly method: string; readonly url: string }[];
  /** API keys of the clients; null for a client without a key. */
  readonly keys: readonly (string | null)[];
}

const MB = 1024 * 1024;

async function start(host: string, scopes: readonly string[]): Promise<Target> {
  const config = `
server: {host: ${host}, port: 0, max_requests_per_minute: 1000000}
pipelines:
  - {name: docs, retriever: {kind: http, url: "http://127.0.0.1:9/search"}, sampling: {rate: 1, max_per_minute: 1000000}}
`;
  const folder = await aFolder({ 'recalld.yaml': config }, atEnd);
  const routesFile = path.join(folder, 'routes.json');
  const preload = path.resolve(import.meta.dirname, '../support/record-routes.mjs');
  const env = { NODE_OPTIONS: `--import=${preload}`, ROUTES_FILE: routesFile };
  const daemon = await startRecalld(['serve', '--roles', 'api'], folder, env, atEnd);
  const keys: (string | null)[] = [null, 'rk_of_nobody'];
  for (const scope of scopes) {
    const args = ['keys', 'create', '--name', scope, '--scope', scope, '--json'];
    const { stdout } = await runRecalld(args, folder, {}, atEnd);
    keys.push((JSON.parse(stdout) as { key: string }).key);
  }
  const routes = (JSON.parse(readFileSync(routesFile, 'utf8')) as string[]).map((route) => {
    const [method = '', url = ''] = route.split(' ');
    return { method, url };
  });
  return { daemon, routes: [...routes, { method: 'POST', url: '/nowhere' }], keys };
}

const types = [
  null,
  'application/json',
  'application/x-protobuf',
  'application/x-www-form-urlencoded',
  'text/csv',
  'text/plain;charset=UTF-8',
  'multipart/form-data',
  '/;=',
] as const;

const encodings = [null, 'identity', 'gzip', 'GZIP', 'deflate', 'br', 'zstd', 'gzip, gzip'] as const;

const item = JSON.stringify({ id: 'q1', pipeline: 'docs', text: 'hello', results: [{ id: 'd1' }] });
const chunked = { 'transfer-encoding': 'chunked' };

/** Bodies with their headers. */
const bodies: readonly (readonly [string | Uint8Array, Readonly<Record<string, string>>?])[] = [
  ['x'],
  [''],
  [item],
  [gzipSync(item)],
  [gzipSync(item).subarray(0, 15)],
  [Buffer.concat([gzipSync(item).subarray(0, 30), Buffer.alloc(100, 7)])],
  [Buffer.concat([gzipSync(item), Buffer.from('behind the end')])],
  [deflateSync(item)],
  [brotliCompressSync(item)],
  [gzipSync(Buffer.alloc(40 * MB, 0x5b))],
  ['['.repeat(300_000)],
  [`{"a":${'['.repeat(200)}`],
  ['form_token=x&text=%ZZ&accept=[[[&id=\0'],
  [Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x1f, 0x8b, 0])],
  [Buffer.alloc(300_000, 0x41)],
  // The request declares a longer body than it sends.
  ['half', { 'content-length': '1000' }],
  ['half', { 'content-length': '999999999999' }],
  ['', { 'content-length': '5', expect: '100-continue' }],
  [`3\r\n{"a\r\n`, chunked],
  [`1\r\nx\r\n0\r\n\r\n`, chunked],
  ['zz\r\nno chunk\r\n', chunked],
  ['1\r\n[\r\n'.repeat(20_000), chunked],
  ['x', { 'content-length': '1', 'transfer-encoding': 'chunked' }],
];

/** True for a body that never arrives completely; the server gives up waiting after half a minute. */
const isCutShort = (headers: Readonly<Record<string, string>>, body: string | Uint8Array): boolean =>
  Number(headers['content-length'] ?? 0) > body.length || (headers === chunked && !String(body).includes('\r\n0\r\n'));

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'PROPFIND'] as const;

interface Choice {
  readonly route: number;
  readonly method: number;
  readonly type: number;
  readonly encoding: number;
  readonly body: number;
  readonly key: number;
  readonly manners: number;
}

function requestOf({ routes, keys }: Target, choice: Choice): RawRequest {
  const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;
  const { method, url } = pick(routes, choice.route);
  const [body, framing = {}] = pick(bodies, choice.body);
  const [type, encoding, key] = [pick(types, choice.type), pick(encodings, choice.encoding), pick(keys, choice.key)];
  const wanted = pick(manners, choice.manners);
  const waits = wanted === 'reads' || wanted === 'goes when answered';
  return {
    // Three in four choices are the route's own method.
    method: pick([method, method, method, pick(methods, choice.method)], choice.method),
    path: url.replaceAll(/:\w+/g, pick(['x', '1', '%00', '..%2f'], choice.method)).replace('*', 'x'),
    headers: {
      ...(type === null ? {} : { 'content-type': type }),
      ...(encoding === null ? {} : { 'content-encoding': encoding }),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...framing,
    },
    body,
    manners: waits && isCutShort(framing, body) ? 'goes' : wanted,
  };
}

/**
 * A route that reads no body is tested with a quarter of all pairs of content type and encoding. This quarter contains
 * each content type and each encoding twice, and depends on the route, so that the routes together cover every pair.
 */
const READS_NO_BODY = new Set(['GET', 'HEAD']);

/**
 * Returns every pair of content type and encoding for each route that reads a body. All other properties of the
 * requests cycle through their values.
 */
function everyPair({ routes }: Target): Choice[] {
  let turn = 0;
  return routes.flatMap(({ method }, route) =>
    types.flatMap((_, type) =>
      encodings.flatMap((__, encoding) => {
        if (READS_NO_BODY.has(method) && (type + encoding + route) % 4 > 0) return [];
        turn += 1;
        // The factors 3, 7 and 11 have no common divisor, so all combinations occur.
        const inTurn = { method: turn * 3, body: turn, key: turn * 7, manners: turn * 11 };
        const plain = { method: 0, body: 0, key: 0, manners: 0 };
        const pair = { route, type, encoding };
        return encodings[encoding] === 'gzip'
          ? [
              { ...pair, ...plain },
              { ...pair, ...inTurn },
            ]
          : [{ ...pair, ...inTurn }];
      }),
    ),
  );
}

const anyChoice: fc.Arbitrary<Choice> = fc.record({
  route: fc.nat(),
  method: fc.nat(),
  type: fc.nat(),
  encoding: fc.nat(),
  body: fc.nat(),
  key: fc.nat(),
  manners: fc.nat(),
});

const AT_ONCE = 16;

async function flood(target: Target, choices: readonly Choice[]): Promise<Map<string, number>> {
  const clients = rawClientsOf(target.daemon.url);
  const seen = new Map<string, number>();
  const rest = choices[Symbol.iterator]();
  const client = async (): Promise<void> => {
    for (const choice of rest) {
      const request = requestOf(target, choice);
      const outcome = await clients.send(request);
      if (target.daemon.child.exitCode !== null) return;
      if (outcome !== null && outcome >= 500 && outcome !== 503)
        throw new Error(`${outcome} to ${JSON.stringify({ ...request, body: String(request.body).slice(0, 40) })}`);
      seen.set(String(outcome), (seen.get(String(outcome)) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  clients.close();
  return seen;
}

async function expectUnharmed({ daemon }: Target): Promise<void> {
  const trouble = logLines(daemon.stderr()).filter(({ level }) => level === 'error');
  expect({ code: daemon.child.exitCode, signal: daemon.child.signalCode, trouble }).toEqual({
    code: null,
    signal: null,
    trouble: [],
  });
  expect((await fetch(`${daemon.url}/livez`)).status).toBe(200);
  expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
}

describe.each([
  ['that requires keys', '127.0.0.2', ['ingest', 'admin']],
  ['that requires no keys', '127.0.0.1', []],
] as const)('a daemon %s', (_name, host, scopes) => {
  let target: Target;

  it('has every documented route, and the routes of the console', async () => {
    target = await start(host, scopes);
    const listed = new Set(target.routes.map(({ method, url }) => `${method} ${url.replaceAll(/:\w+/g, '{}')}`));
    for (const endpoint of endpoints)
      expect(listed).toContain(`${endpoint.method.toUpperCase()} ${endpoint.path.replaceAll(/\{\w+\}/g, '{}')}`);
    expect(listed).toContain('GET /');
    expect(listed).toContain('POST /actions/annotate');
  });

  it('responds to every content type and encoding on every route, or closes the connection, and stays up', async () => {
    const seen = await flood(target, everyPair(target));
    expect([...seen.keys()]).toEqual(expect.arrayContaining(['200', '400', '404', '415', 'null']));
    await expectUnharmed(target);
  });

  it('survives random requests', async () => {
    const seen = await flood(target, fc.sample(anyChoice, 1500));
    expect(seen.has('500')).toBe(false);
    await expectUnharmed(target);
  });
});
