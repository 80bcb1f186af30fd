import { Redis } from 'ioredis';
import { afterEach, expect, it } from 'vitest';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { openStore, storeField } from '../../../support/connectors.ts';
import { freePort } from '../../../support/free-port.ts';
import { describeWithRedis, useRedis } from '../../../support/redis.ts';
import { startTcpGate } from '../../../support/tcp-gate.ts';
import { waitFor } from '../../../support/wait-for.ts';

const never = new AbortController().signal;
const stores: VectorStore[] = [];

function vectorSet(url: string, timeoutMs = 5000): VectorStore {
  const store = openStore({ kind: 'redis_vector_set', url, timeout_ms: timeoutMs, key: 'chunks' });
  stores.push(store);
  return store;
}

function searchIndex(url: string): VectorStore {
  const store = openStore({ kind: 'redis_search', url, timeout_ms: 5000, index: 'chunks' });
  stores.push(store);
  return store;
}

async function command(url: string, ...args: [string, ...string[]]): Promise<unknown> {
  const redis = new Redis(url, { protocol: 2 });
  try {
    return await redis.call(...args);
  } finally {
    redis.disconnect();
  }
}

describeWithRedis('a connection to Redis', () => {
  const server = useRedis();
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await server.start();
  });

  it('reports that an older Redis lacks the commands, and which version has them', async () => {
    const { host } = new URL(server.url);
    expect(await vectorSet(server.url).describe(never)).toEqual({
      kind: 'unsupported',
      reason: `A metadata request requires Redis 8.0 or later, but redis://${host} does not support VINFO.`,
    });
    expect(await searchIndex(server.url).describe(never)).toEqual({
      kind: 'unsupported',
      reason: `A metadata request requires the query engine (Redis 8, or Redis Stack), but redis://${host} does not support FT.INFO.`,
    });
  });

  it('reports that nothing listens', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    expect(await vectorSet(url).existing(['a'], never)).toMatchObject({
      kind: 'failed',
      code: 'connection_refused',
      message: `Redis lookup of ids failed: ${url} refused the connection; check that the service is running and the port is correct.`,
    });
  });

  it('reports that the password is wrong, and never shows it', async () => {
    await command(server.url, 'ACL', 'SETUSER', 'reader', 'on', '>right-password', '~*', '+@read');
    const { host } = new URL(server.url);
    const outcome = await vectorSet(`redis://reader:wrong-password@${host}`).describe(never);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code: 'auth_failed',
      message: `Redis metadata request failed: redis://${host} rejects the user or the password; check ${storeField}.url.`,
    });
  });

  it('is opened again after it broke, and after the server was down', async () => {
    const address = new URL(server.url);
    const gate = await startTcpGate({ host: address.hostname, port: Number(address.port) });
    try {
      const store = vectorSet(`redis://${gate.host}:${gate.port}`);
      expect(await store.describe(never)).toMatchObject({ kind: 'unsupported' });
      await gate.shut();
      expect(await store.describe(never)).toMatchObject({ kind: 'failed' });
      await gate.open();
      expect(await store.describe(never)).toMatchObject({ kind: 'unsupported' });
    } finally {
      await gate.close();
    }
  });

  it('is abandoned when the server does not respond, and works again when it does', async () => {
    const store = vectorSet(server.url, 300);
    expect(await store.describe(never)).toMatchObject({ kind: 'unsupported' });
    server.freeze();
    expect(await store.describe(never)).toMatchObject({ kind: 'failed', code: 'timeout' });
    await server.start();
    await waitFor(async () => (await store.describe(never)).kind === 'unsupported');
  });

  it('is closed by close, even while it is being opened, and a closed store reports that', async () => {
    const address = new URL(server.url);
    const gate = await startTcpGate({ host: address.hostname, port: Number(address.port) });
    try {
      const store = vectorSet(`redis://${gate.host}:${gate.port}`);
      await store.describe(never);
      expect(gate.openConnections).toBe(1);
      await store.close();
      await waitFor(() => gate.openConnections === 0);
      expect(await store.describe(never)).toMatchObject({ kind: 'failed', code: 'connection_closed' });

      const early = vectorSet(`redis://${gate.host}:${gate.port}`);
      const pending = early.describe(never);
      await early.close();
      expect(await pending).toMatchObject({ kind: 'failed' });
      await waitFor(() => gate.openConnections === 0);
    } finally {
      await gate.close();
    }
  });

  it('refuses an address without a host', () => {
    expect(() => vectorSet('redis://')).toThrow(
      'pipelines[0].vector_store.url: use a URL such as redis://store.internal:6379.',
    );
  });
});
