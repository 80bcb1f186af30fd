/** Tests that request bodies are read within limits, counted while they are held, and always released. */
import { once } from 'node:events';
import { type IncomingMessage, request as open } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import { identifyCallers, requireScope } from '../../../../src/platform/access/authentication.ts';
import {
  addRequestBodies,
  createMemoryBudget,
  type MemoryBudget,
} from '../../../../src/platform/http/request-bodies.ts';
import { acceptingKeys } from '../../../support/authentication.ts';
import { silentLogger } from '../../../support/log.ts';

const MB = 1024 * 1024;
const LIMIT = 32 * MB;

/** Wraps a memory budget, and records the number of bytes held now and the maximum so far. */
function watched(budget: MemoryBudget): MemoryBudget & { held: number; most: number } {
  return {
    held: 0,
    most: 0,
    take(bytes, isKeyless) {
      const outcome = budget.take(bytes, isKeyless);
      if (outcome === 'taken') this.held += bytes;
      this.most = Math.max(this.most, this.held);
      return outcome;
    },
    giveBack(bytes, isKeyless) {
      this.held -= bytes;
      budget.giveBack(bytes, isKeyless);
    },
    peak: () => budget.peak(),
  };
}

let app: FastifyInstance;
let budget: ReturnType<typeof watched>;
let url: URL;
/** One function for each request whose body was read; the function releases the response. */
let waiting: (() => void)[];

beforeEach(async () => {
  app = fastify({ forceCloseConnections: true });
  budget = watched(createMemoryBudget(128 * 1024 * 1024));
  waiting = [];
  const bodies = addRequestBodies(app, budget);
  app.addContentTypeParser('application/json', async (request: FastifyRequest) =>
    Buffer.concat(await bodies.read(request, LIMIT)),
  );
  app.setErrorHandler((error, _request, reply) => {
    reply.removeHeader('connection');
    const isOurs = error instanceof RecalldError;
    return reply.code(isOurs ? 400 : 500).send({ code: isOurs ? error.code : String(error) });
  });
  const authentication = acceptingKeys(['admin'], silentLogger);
  await identifyCallers(app, authentication, 1_000_000);
  const answer = async ({ body }: FastifyRequest, reply: FastifyReply) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return reply.send({ bytes: (body as Buffer | undefined)?.length ?? null });
  };
  app.post('/open', answer);
  app.delete('/open', answer);
  app.post('/v1/keyed', { preParsing: requireScope('ingest', authentication) }, answer);
  url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
});

afterEach(() => app.close());

interface Answer {
  readonly status: number;
  readonly connection: string | undefined;
  readonly json: Record<string, unknown>;
}

async function send(
  path: string,
  body: Uint8Array | string,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<Answer> {
  const request = open(new URL(path, url), {
    method,
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    },
  });
  request.on('error', () => undefined);
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of response) text += String(piece);
  return {
    status: response.statusCode ?? 0,
    connection: response.headers.connection,
    json: JSON.parse(text) as Record<string, unknown>,
  };
}

/** Releases waiting requests until all sent requests have a response. */
async function answered<T>(sent: Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    for (const go of waiting.splice(0)) go();
  }, 5);
  try {
    return await sent;
  } finally {
    clearInterval(timer);
  }
}

const gzip = { 'content-encoding': 'gzip' };
const bomb = gzipSync(Buffer.alloc(100 * MB));
const patiently = { timeout: 20_000 };
const bearer = { authorization: 'Bearer key' };

describe('a body', () => {
  it.each([
    ['as it is', 'hello', {}, 5],
    ['with the encoding identity', 'hello', { 'content-encoding': 'identity' }, 5],
    ['compressed', gzipSync('hello'.repeat(1000)), gzip, 5000],
    ['compressed in two parts', Buffer.concat([gzipSync('hello'), gzipSync('world')]), gzip, 10],
    ['empty', '', {}, 0],
  ] as const)('is read: %s', async (_name, body, headers, bytes) => {
    expect(await answered(send('/open', body, headers))).toMatchObject({ status: 200, json: { bytes } });
    expect(budget.held).toBe(0);
  });

  it.each([
    ['that is not gzip', 'hello', gzip, 'body_unreadable'],
    ['that is truncated gzip', gzipSync('hello'.repeat(1000)).subarray(0, 20), gzip, 'body_unreadable'],
    ['that is empty although it is declared as gzip', '', gzip, 'body_unreadable'],
    ['with an unsupported encoding', 'hello', { 'content-encoding': 'br' }, 'body_unreadable'],
    ['that is too large', Buffer.alloc(LIMIT + 1, 0x20), {}, 'body_too_large'],
    ['that is too large when decompressed', bomb, gzip, 'body_too_large'],
  ] as const)('is rejected, and its memory is released: one %s', async (_name, body, headers, code) => {
    expect(await send('/open', body, headers)).toMatchObject({ status: 400, json: { code } });
    expect(budget.held).toBe(0);
  });

  it('is not decompressed beyond the limit, however small it is', async () => {
    const before = process.memoryUsage().arrayBuffers;
    expect(await send('/open', bomb, gzip)).toMatchObject({ json: { code: 'body_too_large' } });
    expect(budget.most).toBeLessThan(LIMIT + 2 * MB);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60 * MB);
  });

  it('of length 0 is accepted by DELETE routes, whatever its content type', async () => {
    for (const type of ['application/json', 'text/plain;charset=UTF-8', 'text/csv']) {
      const answer = await answered(send('/open', '', { 'content-type': type }, 'DELETE'));
      expect(answer).toMatchObject({ status: 200, json: { bytes: null } });
    }
  });

  it('that no route reads is discarded without using the memory budget', async () => {
    for (const [path, method] of [
      ['/open', 'POST'],
      ['/nowhere', 'POST'],
      ['/nowhere', 'GET'],
      ['/v1/keyed', 'POST'],
    ] as const) {
      const answer = await send(path, 'x', { ...gzip, 'content-type': 'text/csv' }, method);
      expect([400, 404, 500]).toContain(answer.status);
    }
    expect(budget.most).toBe(0);
  });

  it('is not read before the key is verified', async () => {
    for (const [body, headers] of [
      [bomb, gzip],
      ['x', gzip],
      [Buffer.alloc(20 * MB), {}],
    ] as const)
      expect(await send('/v1/keyed', body, headers)).toMatchObject({ json: { code: 'key_missing' } });
    expect(budget.most).toBe(0);
  });
});

describe('a client that disconnects during a request', () => {
  it.each([
    ['in the middle of a body', 'content-length: 1000\r\n', 'hello'],
    ['in the middle of a compressed body', 'content-length: 1000\r\ncontent-encoding: gzip\r\n', gzipSync('hello')],
    ['in the middle of a chunk', 'transfer-encoding: chunked\r\n', '5\r\nhel'],
    ['before the first byte', 'content-length: 1000\r\ncontent-encoding: gzip\r\n', ''],
  ])('releases all memory: %s', async (_name, headers, begun) => {
    const ended = new Promise<void>((resolve) => {
      app.server.once('request', (request) => request.once('close', resolve));
    });
    const socket = connect(Number(url.port), url.hostname);
    socket.on('error', () => undefined);
    socket.write(`POST /open HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${headers}\r\n`);
    socket.write(begun);
    await once(app.server, 'request');
    socket.destroy();
    await ended;
    await expect.poll(() => budget.held, patiently).toBe(0);
    expect(waiting).toEqual([]);
  });

  it('releases the memory of its body after the work is done', async () => {
    const request = open(new URL('/open', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    request.on('error', () => undefined);
    request.end('x'.repeat(MB));
    await expect.poll(() => waiting.length, patiently).toBe(1);
    const gone = new Promise((resolve) => request.once('close', resolve));
    request.destroy();
    await gone;
    expect(budget.held).toBeGreaterThan(MB);
    waiting[0]?.();
    await expect.poll(() => budget.held, patiently).toBe(0);
  });
});

describe('all request bodies together', () => {
  const body = Buffer.alloc(20 * MB, 0x20);
  /** Returns the responses that arrive while the other requests wait. */
  const heldBack = async (sent: readonly Promise<Answer>[]): Promise<Answer[]> => {
    const answers: Answer[] = [];
    for (const one of sent) void one.then((answer) => answers.push(answer));
    await expect.poll(() => waiting.length + answers.length, patiently).toBe(sent.length);
    return answers;
  };
  const codeOf = ({ status, json }: Answer) => (status === 200 ? 'taken' : json['code']);

  it('of clients without a key hold at most 64 MB, and leave room for other clients', async () => {
    const sent = Array.from({ length: 12 }, () => send('/open', body));
    const refused = await heldBack(sent);
    expect(budget.most).toBeLessThanOrEqual(64 * MB);
    expect(waiting).toHaveLength(3);
    expect(refused.map(codeOf)).toEqual(Array.from({ length: 9 }, () => 'overloaded'));
    expect(codeOf(await send('/open', body))).toBe('overloaded');
    const keyed = send('/v1/keyed', body, bearer);
    await expect.poll(() => waiting.length, patiently).toBe(4);
    expect(
      (await answered(Promise.all([keyed, ...sent])))
        .map((answer) => String(codeOf(answer)))
        .toSorted((a, b) => a.localeCompare(b)),
    ).toEqual([...Array.from({ length: 9 }, () => 'overloaded'), ...Array.from({ length: 4 }, () => 'taken')]);
    expect(budget.held).toBe(0);
    expect(codeOf(await answered(send('/open', body)))).toBe('taken');
  });

  it('hold at most 128 MB, with or without keys', async () => {
    const sent = Array.from({ length: 12 }, () => send('/v1/keyed', body, bearer));
    const refused = await heldBack(sent);
    expect(budget.most).toBeLessThanOrEqual(128 * MB);
    expect(waiting).toHaveLength(6);
    expect(refused.map(codeOf)).toEqual(Array.from({ length: 6 }, () => 'overloaded'));
    await answered(Promise.all(sent));
    expect(budget.held).toBe(0);
  });

  it('count the overhead of chunks, so that a body sent byte by byte cannot exceed the memory budget', async () => {
    const socket = connect(Number(url.port), url.hostname);
    socket.on('error', () => undefined);
    socket.write(
      'POST /open HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    );
    socket.write('1\r\n \r\n'.repeat(200_000));
    let text = '';
    for await (const piece of socket) text += String(piece);
    expect(text).toMatch(/^HTTP\/1.1 400 .*connection: close.*overloaded/is);
    expect(budget.held).toBe(0);
  });
});

it('lets a client that sends too much read the response, unless its body is too large to discard', async () => {
  expect(await send('/open', Buffer.alloc(20 * MB), gzip)).toMatchObject({
    status: 400,
    connection: undefined,
  });
  const much = { 'content-length': String(10 ** 9) };
  expect(await send('/open', 'x', much)).toMatchObject({ connection: 'close' });
});
