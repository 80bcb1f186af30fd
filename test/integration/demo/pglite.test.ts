import { Socket } from 'node:net';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startPglite } from '../../../src/demo/rag/store.ts';

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(() => {
  process.off('unhandledRejection', note);
});

async function connect(url: string, socket = new Socket()): Promise<Client> {
  const client = new Client({ connectionString: url, stream: () => socket });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

it('the PGlite server stops while connections are closing, whatever their state', async () => {
  const server = await startPglite();
  const clients = await Promise.all(Array.from({ length: 10 }, () => connect(server.url)));
  const ended: Promise<void>[] = [];
  for (const client of clients) {
    ended.push(client.end());
    await nextTick();
  }
  await server.stop();
  await Promise.all(ended);
  for (let turn = 0; turn < clients.length; turn += 1) await nextTick();
  expect(unhandled).toEqual([]);
});

it('the PGlite server accepts new connections after many were reset', async () => {
  const server = await startPglite();
  for (let broken = 0; broken < 110; broken += 1) {
    const socket = new Socket();
    await connect(server.url, socket);
    socket.resetAndDestroy();
  }
  const client = await connect(server.url);
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await client.end();
  await server.stop();
});
