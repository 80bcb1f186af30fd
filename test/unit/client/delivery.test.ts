import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ClientOptions, createClient, type Drop, type TrackedQuery } from '../../../src/client/client.ts';
import type { Connection } from '../../../src/client/connection.ts';
import { Channel } from '../../../src/client/delivery.ts';
import { readOptions } from '../../../src/client/options.ts';
import { createRecord } from '../../../src/client/records.ts';
import { waitFor } from '../../support/wait-for.ts';
import { accept, hang, inTurn, startRecordingDaemon, status } from './recording-daemon.ts';

/** Retries wait for up to several seconds, and machines may be slow. */
const patience = { timeout: 60_000 };

/** Opens a client that sends nothing automatically during a test, unless `options` say otherwise. */
function openClient(url: string, options: Partial<ClientOptions> = {}) {
  const client = createClient({ url, pipeline: 'support-docs', flushIntervalMs: 3_600_000, ...options });
  onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
  return client;
}

const aQuery = (id: string, more: Partial<TrackedQuery> = {}): TrackedQuery => ({
  id,
  results: ['doc-1'],
  ...more,
});

const aLargeQuery = (id: string) => aQuery(id, { embedding: Array.from({ length: 16_000 }, Math.random) });

/** Starts a server that calls `act` with the socket of each connection when the first bytes of a request arrive. */
async function startCutting(act: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => act(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `q-${from + i}`);

const idsOf = (items: readonly Readonly<Record<string, unknown>>[]) => items.map((item) => item['id']);

describe('the client', patience, () => {
  it('sends a batch as soon as the batch is full', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(daemon.url, { batchSize: 10 });
    for (const id of range(0, 25)) client.track(aQuery(id));
    await waitFor(() => client.stats().queries.sent === 20);
    expect(daemon.requests.map(({ items }) => idsOf(items))).toEqual([range(0, 10), range(10, 20)]);
    expect(client.stats().queries).toMatchObject({
      offered: 25,
      sent: 20,
      pending: 5,
      requests: 2,
      lastError: null,
    });
  });

  it('sends a partial batch after the flush interval', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(daemon.url, { flushIntervalMs: 30 });
    client.track(aQuery('q-0'));
    await waitFor(() => daemon.items('/v1/queries').length === 1);
    client.track(aQuery('q-1'));
    await waitFor(() => daemon.items('/v1/queries').length === 2);
    expect(daemon.requests).toHaveLength(2);
  });

  it('sends smaller batches if the items are large', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(daemon.url, { batchSize: 1000 });
    for (const id of range(0, 40)) client.track(aQuery(id, { text: 'x'.repeat(50_000) }));
    await waitFor(() => daemon.requests.length >= 3);
    await client.flush();
    expect(idsOf(daemon.items('/v1/queries'))).toEqual(range(0, 40));
    for (const { items } of daemon.requests) expect(JSON.stringify(items).length).toBeLessThanOrEqual(512 * 1024);
  });

  it('posts each kind of item to its own path, with the user agent and the API key', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(`${daemon.url}/behind/a/proxy/`, { apiKey: 'rk_1' });
    const queryId = client.track({ results: [] });
    client.feedback({ queryId, kind: 'thumb', value: 'up' });
    expect(await client.flush()).toEqual({ sent: 2, pending: 0 });
    expect(daemon.requests.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'POST /behind/a/proxy/v1/feedback',
      'POST /behind/a/proxy/v1/queries',
    ]);
    for (const { headers } of daemon.requests) {
      expect(headers).toMatchObject({ authorization: 'Bearer rk_1', 'content-type': 'application/json' });
      expect(headers['user-agent']).toMatch(/^recalld-client\/\d+\.\d+\.\d+/);
    }
    expect(daemon.items('/behind/a/proxy/v1/feedback')).toMatchObject([
      { query_id: queryId, kind: 'thumb', value: 'up' },
    ]);
  });

  it('compresses a batch without changing its items', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(daemon.url);
    for (const id of range(0, 50)) client.track(aQuery(id, { text: 'Wie setze ich 密码 zurück? 😀' }));
    await client.flush();
    const [request] = daemon.requests;
    expect(request?.headers['content-encoding']).toBe('gzip');
    expect(request?.bytes.length).toBeLessThan(JSON.stringify(request?.items).length / 4);
    expect(request?.items).toHaveLength(50);
    expect(request?.items[49]).toMatchObject({ id: 'q-49', text: 'Wie setze ich 密码 zurück? 😀' });
  });

  it('sends a batch again and all later batches uncompressed if the daemon rejects gzip', async () => {
    const daemon = await startRecordingDaemon((request, response) =>
      (request.headers['content-encoding'] === undefined ? accept() : status(415))(request, response),
    );
    const client = openClient(daemon.url, { batchSize: 50 });
    for (const id of range(0, 100)) client.track(aQuery(id));
    expect(await client.flush()).toEqual({ sent: 100, pending: 0 });
    expect(daemon.requests.map((request) => request.status)).toEqual([415, 202, 202]);
  });

  it('splits a batch that the daemon rejects as too large, and drops a single item that is too large', async () => {
    const daemon = await startRecordingDaemon((request, response) =>
      (request.items.length <= 3 && request.items.every(({ text }) => text === undefined) ? accept() : status(413))(
        request,
        response,
      ),
    );
    const client = openClient(daemon.url);
    for (const id of range(0, 20)) client.track(aQuery(id));
    client.track(aQuery('q-large', { text: 'x'.repeat(9000) }));
    for (const id of range(20, 30)) client.track(aQuery(id));
    expect(await client.flush()).toEqual({ sent: 30, pending: 0 });
    expect(idsOf(daemon.items('/v1/queries'))).toEqual(range(0, 30));
    expect(client.stats().queries).toMatchObject({ sent: 30, rejectedByCode: { http_413: 1 } });
  });

  it('does not leak the async context of a host request into onDrop', async () => {
    const daemon = await startRecordingDaemon();
    const store = new AsyncLocalStorage<string>();
    const client = openClient(daemon.url, {
      batchSize: 2,
      onDrop: () => seen.push(store.getStore()),
    });
    const seen: (string | undefined)[] = [];
    daemon.respondWith(accept([{ index: 0, code: 'unknown_pipeline' }]));
    store.run('a request of the host', () => {
      for (const id of range(0, 2)) client.track(aQuery(id));
    });
    await waitFor(() => client.stats().queries.sent === 1);
    expect(seen).toEqual([undefined]);
  });
});

describe('a full batch', patience, () => {
  it('is serialized and sent only after the current turn of the event loop', async () => {
    let posts = 0;
    const connection: Connection = {
      post: async () => {
        posts += 1;
        return { kind: 'answer', status: 202, retryAfter: null, body: '' };
      },
      close: () => undefined,
    };
    const channel = new Channel('queries', connection, readOptions({ url: 'http://127.0.0.1', batchSize: 1 }));
    onTestFinished(() => channel.stop());
    let reads = 0;
    const record = {
      ...createRecord({ id: 'q-0' }),
      get json() {
        reads += 1;
        return '{"id":"q-0"}';
      },
    };
    channel.offer(() => record);
    for (let i = 0; i < 100; i++) await Promise.resolve();
    expect({ posts, reads }).toEqual({ posts: 0, reads: 0 });
    await waitFor(() => channel.sent === 1);
    expect({ posts, reads }).toEqual({ posts: 1, reads: 1 });
  });
});

describe('an item', patience, () => {
  it('is delivered once, with its original id, to a daemon that was overloaded', async () => {
    const daemon = await startRecordingDaemon(inTurn(status(503, { 'retry-after': '1' }), accept()));
    const client = openClient(daemon.url);
    const ids = Array.from({ length: 3 }, () => client.track({ results: [] }));
    expect(await client.flush({ timeoutMs: 20_000 })).toEqual({ sent: 3, pending: 0 });
    expect(idsOf(daemon.items('/v1/queries'))).toEqual(ids);
    expect(new Set(ids).size).toBe(3);
    expect(daemon.requests.map(({ items }) => idsOf(items))).toEqual([ids, ids]);
    expect(client.stats().queries).toMatchObject({ sent: 3, requests: 2, retries: 1, lastError: null });
  });

  it.each([429, 502, 503, 504])('survives HTTP %d, while newer items wait', async (code) => {
    const daemon = await startRecordingDaemon(inTurn(status(code), status(code), accept()));
    const client = openClient(daemon.url, { batchSize: 2 });
    for (const id of range(0, 6)) client.track(aQuery(id));
    expect(await client.flush({ timeoutMs: 20_000 })).toEqual({ sent: 6, pending: 0 });
    expect(idsOf(daemon.items('/v1/queries'))).toEqual(range(0, 6));
  });

  it('survives an outage of the daemon', async () => {
    const first = await startRecordingDaemon();
    const port = Number(new URL(first.url).port);
    await first.close();
    const client = openClient(first.url);
    for (const id of range(0, 3)) client.track(aQuery(id));
    const flushed = client.flush({ timeoutMs: 30_000 });
    await waitFor(() => client.stats().queries.retries > 0);
    expect(client.stats().queries).toMatchObject({ pending: 3, lastError: 'ECONNREFUSED' });
    const second = await startRecordingDaemon(accept(), port);
    expect(await flushed).toEqual({ sent: 3, pending: 0 });
    expect(idsOf(second.items('/v1/queries'))).toEqual(range(0, 3));
  });

  it('survives a connection that breaks during the upload', async () => {
    const client = openClient(await startCutting((socket) => socket.resetAndDestroy()));
    for (const id of range(0, 5)) client.track(aLargeQuery(id));
    await client.flush({ timeoutMs: 0 });
    await waitFor(() => client.stats().queries.retries > 0);
    expect(client.stats().queries).toMatchObject({ sent: 0, pending: 5 });
  });

  it.each([
    { how: 'resets', end: (socket: Socket) => socket.resetAndDestroy() },
    { how: 'ends', end: (socket: Socket) => socket.end() },
  ])('is delivered to a daemon that answers in the middle of the upload and $how the connection', async ({ end }) => {
    const url = await startCutting((socket) => {
      socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}', () => end(socket));
    });
    const client = openClient(url, { batchSize: 5, timeoutMs: 2000 });
    for (const id of range(0, 20)) client.track(aLargeQuery(id));
    const { sent, pending } = await client.flush({ timeoutMs: 20_000 });
    // If the connection is reset before the response arrives, the client sends the request again.
    expect({ all: sent + pending, pending }).toEqual({ all: 20, pending: 0 });
  });

  it('leaves no connection open after a timeout', async () => {
    const daemon = await startRecordingDaemon(hang());
    const client = openClient(daemon.url, { timeoutMs: 50, flushIntervalMs: 1 });
    client.track(aQuery('q-0'));
    await waitFor(() => client.stats().queries.retries >= 3);
    await waitFor(() => daemon.connections <= 1);
    expect(daemon.requests.length).toBeGreaterThanOrEqual(3);
  });

  it('counts as delivered after HTTP 202, even if the response breaks off', async () => {
    const daemon = await startRecordingDaemon((_request, response) => {
      response.writeHead(202, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"accepted": 1,');
    });
    const client = openClient(daemon.url, { timeoutMs: 1000 });
    client.track(aQuery('q-0'));
    expect(await client.flush({ timeoutMs: 20_000 })).toEqual({ sent: 1, pending: 0 });
    expect(daemon.requests).toHaveLength(1);
  });

  it('counts as delivered after HTTP 202, even if the response never ends', async () => {
    const daemon = await startRecordingDaemon((_request, response) => {
      response.writeHead(202);
      const chunk = 'x'.repeat(64 * 1024);
      const write = () =>
        void (response.destroyed || (response.write(chunk) ? setImmediate(write) : response.once('drain', write)));
      write();
    });
    const client = openClient(daemon.url);
    client.track(aQuery('q-0'));
    expect(await client.flush({ timeoutMs: 20_000 })).toEqual({ sent: 1, pending: 0 });
  });

  it('does not change if the host later changes the tracked objects', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(daemon.url);
    const embedding = [0.25, 0.5];
    const results = [
      { id: 'a', score: 0.9 },
      { id: 'b', score: 0.8 },
    ];
    const segments: Record<string, string> = { tenant: 'acme' };
    client.track({ id: 'q-0', embedding, results, segments });
    embedding[0] = 7;
    results.reverse();
    for (const result of results) result.id = 'changed';
    segments['tenant'] = 'changed';
    await client.flush();
    expect(daemon.items('/v1/queries')[0]).toMatchObject({
      results: [
        { id: 'a', score: 0.9 },
        { id: 'b', score: 0.8 },
      ],
      segments: { tenant: 'acme' },
      embedding: Buffer.from(new Float32Array([0.25, 0.5]).buffer).toString('base64'),
    });
  });
});

describe('rejected items', patience, () => {
  it('are counted by the code of the daemon, and the rest of the batch is accepted', async () => {
    const drops: Drop[] = [];
    const daemon = await startRecordingDaemon(
      accept([
        { index: 1, code: 'unknown_pipeline' },
        { index: 2, code: 'text_too_long' },
        { index: 3, code: 'unknown_pipeline' },
      ]),
    );
    const client = openClient(daemon.url, { onDrop: (drop) => drops.push(drop) });
    for (const id of range(0, 5)) client.track(aQuery(id));
    expect(await client.flush()).toEqual({ sent: 2, pending: 0 });
    expect(client.stats().queries).toMatchObject({
      sent: 2,
      dropped: { rejected: 3 },
      rejectedByCode: { unknown_pipeline: 2, text_too_long: 1 },
    });
    expect(drops).toEqual([
      { what: 'queries', reason: 'rejected', count: 2, detail: 'unknown_pipeline' },
      { what: 'queries', reason: 'rejected', count: 1, detail: 'text_too_long' },
    ]);
  });

  it.each([400, 401, 404, 500])(
    'of a batch rejected with HTTP %d are not sent again, and do not delay the next batch',
    async (code) => {
      const daemon = await startRecordingDaemon(inTurn(status(code), accept()));
      const client = openClient(daemon.url, { batchSize: 2 });
      for (const id of range(0, 4)) client.track(aQuery(id));
      expect(await client.flush()).toEqual({ sent: 2, pending: 0 });
      expect(idsOf(daemon.items('/v1/queries'))).toEqual(['q-2', 'q-3']);
      expect(client.stats().queries.rejectedByCode).toEqual({ [`http_${code}`]: 2 });
    },
  );

  it('are not sent to the target of a redirect', async () => {
    const elsewhere = await startRecordingDaemon();
    const daemon = await startRecordingDaemon(status(307, { location: elsewhere.url }));
    const client = openClient(daemon.url);
    client.track(aQuery('q-0'));
    await client.flush();
    expect(client.stats().queries.rejectedByCode).toEqual({ http_307: 1 });
    expect(elsewhere.requests).toHaveLength(0);
  });
});

describe('Retry-After', patience, () => {
  it('is respected by flush and close, which do not send earlier', async () => {
    const daemon = await startRecordingDaemon(status(503, { 'retry-after': '3600' }));
    const client = openClient(daemon.url);
    client.track(aQuery('q-0'));
    await waitFor(
      async () => (await client.flush({ timeoutMs: 10 })).pending === 1 && client.stats().queries.retries === 1,
    );
    expect(await client.flush({ timeoutMs: 50 })).toEqual({ sent: 0, pending: 1 });
    expect(await client.close({ timeoutMs: 50 })).toEqual({ sent: 0, pending: 1 });
    expect(daemon.requests).toHaveLength(1);
  });
});

describe('local sampling', patience, () => {
  it('keeps or drops whole sessions, and reports the probability to the daemon', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(daemon.url, { sampleRate: 0.25, batchSize: 1000 });
    for (let i = 0; i < 400; i++) {
      for (const turn of ['a', 'b']) client.track({ id: `${i}-${turn}`, sessionId: `session-${i}`, results: [] });
    }
    await client.flush();
    const items = daemon.items('/v1/queries');
    const { offered, sampledOut, sent } = client.stats().queries;
    expect(offered).toBe(800);
    expect(sampledOut + sent).toBe(800);
    expect(items).toHaveLength(sent);
    const sessions = new Map<unknown, number>();
    for (const item of items) {
      expect(item['sampling']).toEqual({ probability: 0.25 });
      sessions.set(item['session_id'], (sessions.get(item['session_id']) ?? 0) + 1);
    }
    expect(new Set(sessions.values())).toEqual(new Set([2]));
    // The limit is five standard deviations from the expected 100 of 400 sessions.
    expect(Math.abs(sessions.size - 100)).toBeLessThan(44);
  });

  it('never drops feedback, even on a query that was sampled out', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(daemon.url, { sampleRate: 0 });
    const queryId = client.track({ results: [] });
    client.feedback({ queryId, kind: 'thumb', value: 'down' });
    expect(await client.flush()).toEqual({ sent: 1, pending: 0 });
    expect(daemon.items('/v1/feedback')).toMatchObject([{ query_id: queryId, value: 'down' }]);
    expect(client.stats().queries).toMatchObject({ offered: 1, sampledOut: 1 });
  });
});

describe('a closed client', patience, () => {
  it('delivers queued items and accepts no more', async () => {
    const daemon = await startRecordingDaemon();
    const client = openClient(daemon.url, { batchSize: 10 });
    for (const id of range(0, 25)) client.track(aQuery(id));
    const [first, second] = [client.close(), client.close()];
    expect(client.track(aQuery('q-late'))).toBe('q-late');
    client.feedback({ queryId: 'q-0', kind: 'copy' });
    expect(await first).toEqual({ sent: 25, pending: 0 });
    expect(await second).toEqual({ sent: 25, pending: 0 });
    expect(idsOf(daemon.items('/v1/queries'))).toEqual(range(0, 25));
    expect(client.stats().queries.dropped.closed).toBe(1);
    expect(client.stats().feedback.dropped.closed).toBe(1);
    expect(await client.flush()).toEqual({ sent: 0, pending: 0 });
    expect(await client.close()).toEqual({ sent: 25, pending: 0 });
  });

  it('stops waiting for a daemon that never answers, and reports what was lost', async () => {
    const daemon = await startRecordingDaemon(hang());
    const client = openClient(daemon.url, { timeoutMs: 60_000 });
    for (const id of range(0, 3)) client.track(aQuery(id));
    expect(await client.close({ timeoutMs: 50 })).toEqual({ sent: 0, pending: 3 });
    expect(client.stats().queries).toMatchObject({ pending: 0, pendingBytes: 0, dropped: { closed: 3 } });
    await waitFor(() => daemon.connections === 0);
  });

  it('retries immediately if it was waiting to retry', async () => {
    // Forces the maximum back-off.
    vi.spyOn(Math, 'random').mockReturnValue(1000);
    onTestFinished(() => void vi.restoreAllMocks());
    const daemon = await startRecordingDaemon(inTurn(status(503), accept()));
    const client = openClient(daemon.url, { flushIntervalMs: 1 });
    client.track(aQuery('q-0'));
    await waitFor(() => client.stats().queries.retries === 1);
    expect(await client.close({ timeoutMs: 20_000 })).toEqual({ sent: 1, pending: 0 });
  });
});
