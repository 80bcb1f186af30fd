/** Tests that unauthenticated connections have a limited cost, and cannot block other clients. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identifyCallers, requireScope } from '../../../../src/platform/access/authentication.ts';
import { limitConnections } from '../../../../src/platform/http/connections.ts';
import { createMemoryBudget, type MemoryBudget } from '../../../../src/platform/http/request-bodies.ts';
import { acceptingKeys } from '../../../support/authentication.ts';
import { recordLog } from '../../../support/log.ts';

/** Maximum number of connections without a key: 512 buffers of 128 kB each, 64 MB in total. */
const MAX_KEYLESS = 512;
const patiently = { timeout: 20_000 };

let app: FastifyInstance;
let budget: MemoryBudget;
let log: ReturnType<typeof recordLog>;
let url: URL;
let requests = 0;
let waiting: (() => void)[];

beforeEach(async () => {
  app = fastify({ forceCloseConnections: true });
  budget = createMemoryBudget(128 * 1024 * 1024);
  log = recordLog();
  requests = 0;
  waiting = [];
  limitConnections(app, budget, log.logger);
  const authentication = acceptingKeys(['read'], log.logger);
  await identifyCallers(app, authentication, 1_000_000);
  app.get('/', () => {
    requests += 1;
    return 'x'.repeat(1000);
  });
  app.get('/slow', () => new Promise<string>((resolve) => waiting.push(() => resolve('done'))));
  app.get('/v1/keyed', { preParsing: requireScope('read', authentication) }, (_request: FastifyRequest) => 'x');
  url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
});

afterEach(() => app.close());

async function aConnection(): Promise<Socket> {
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`;
const bearer = 'authorization: Bearer key\r\n';

async function ask(socket: Socket, path: string, headers = ''): Promise<string> {
  socket.write(get(path, headers));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return String(answer).slice(9, 12);
}

const connected = () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));

describe('connections without a valid key', () => {
  it('are limited to 512: the oldest is closed, and the new one is served', async () => {
    const first = await aConnection();
    const closed = once(first, 'close');
    for (let i = 1; i < MAX_KEYLESS; i += 1) await aConnection();
    expect(first.destroyed).toBe(false);
    expect(await ask(await aConnection(), '/')).toBe('200');
    await closed;
    await expect.poll(connected, patiently).toBe(MAX_KEYLESS);
  });

  it('are not closed while they wait for a response', async () => {
    const first = await aConnection();
    const answer = ask(first, '/slow');
    await expect.poll(() => waiting.length, patiently).toBe(1);
    const second = await aConnection();
    const closed = once(second, 'close');
    for (let i = 2; i < MAX_KEYLESS + 1; i += 1) await aConnection();
    await closed;
    waiting[0]?.();
    expect(await answer).toBe('200');
  });

  it('do not count after a valid key was presented on them', async () => {
    const keyed = await aConnection();
    expect(await ask(keyed, '/v1/keyed', bearer)).toBe('200');
    const next = await aConnection();
    for (let i = 1; i < MAX_KEYLESS; i += 1) await aConnection();
    expect(next.destroyed).toBe(false);
    const closed = once(next, 'close');
    await aConnection();
    await closed;
    expect(await ask(keyed, '/v1/keyed', bearer)).toBe('200');
  });

  it('no longer count after they end', async () => {
    const sockets = await Promise.all(Array.from({ length: 100 }, aConnection));
    for (const socket of sockets) socket.destroy();
    await expect.poll(connected, patiently).toBe(0);
    const room = 64 * 1024 * 1024;
    expect(budget.take(room, true)).toBe('taken');
  });
});

describe('pipelined requests', () => {
  it('are answered if they are few', async () => {
    const socket = await aConnection();
    let text = '';
    socket.on('data', (piece) => {
      text += String(piece);
    });
    socket.write(get('/').repeat(8));
    await expect.poll(() => text.split('200 OK').length - 1, patiently).toBe(8);
  });

  it('end the connection if they are many and the client does not read the responses', async () => {
    const socket = await aConnection();
    const taken = once(app.server, 'connection');
    socket.pause();
    const [other] = await Promise.all([taken, aConnection()]);
    expect(other).toBeDefined();
    socket.write(get('/').repeat(50_000));
    await expect.poll(connected, patiently).toBe(1);
    expect(requests).toBeLessThan(1000);
  });
});

it('logs a connection that the system could not accept, and keeps running', async () => {
  app.server.emit('error', new Error('accept ENOMEM'));
  expect(log.entries).toMatchObject([{ level: 'warn', fields: { reason: 'accept ENOMEM' } }]);
  expect(await ask(await aConnection(), '/')).toBe('200');
});
