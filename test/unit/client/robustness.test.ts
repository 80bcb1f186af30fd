import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type Client,
  type ClientOptions,
  createClient,
  type DeliveryStats,
  type Drop,
  type TrackedFeedback,
  type TrackedQuery,
} from '../../../src/client/client.ts';
import { junk } from './junk.ts';
import { accept, hang, inTurn, startRecordingDaemon, status } from './recording-daemon.ts';

const nowhere = 'http://127.0.0.1:9';

function openClient(options: ClientOptions): Client {
  const client = createClient({ pipeline: 'support-docs', flushIntervalMs: 3_600_000, ...options });
  onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
  return client;
}

/**
 * Returns two numbers that must be equal: the items that the host passed, and the items that the client accounts for.
 */
function balance({ offered, sampledOut, sent, pending, dropped }: DeliveryStats): [number, number] {
  const lost = Object.values(dropped).reduce((sum, count) => sum + count, 0);
  return [offered, sampledOut + sent + pending + lost];
}

function expectBalance(client: Client): void {
  for (const stats of [client.stats().queries, client.stats().feedback]) {
    const [offered, known] = balance(stats);
    expect(known).toBe(offered);
  }
}

describe('the client', () => {
  it('never throws, whatever the host tracks', () => {
    const client = openClient({ url: nowhere, maxQueue: 50, sampleRate: 0.9 });
    fc.assert(
      fc.property(junk, junk, (makeQuery, makeFeedback) => {
        expect(typeof client.track(makeQuery() as TrackedQuery)).toBe('string');
        expect(client.feedback(makeFeedback() as TrackedFeedback)).toBeUndefined();
        expectBalance(client);
      }),
      { numRuns: 500 },
    );
    expect(client.stats().queries.dropped.invalid).toBeGreaterThan(50);
    expect(client.stats().feedback.dropped.invalid).toBeGreaterThan(50);
  });

  it('never throws, whatever its options', async () => {
    await fc.assert(
      fc.asyncProperty(junk, junk, async (makeOptions, makeLimit) => {
        const client = createClient(makeOptions() as ClientOptions);
        expect(typeof client.track({ pipeline: 'p', results: ['a'] })).toBe('string');
        client.feedback({ pipeline: 'p', queryId: 'q', kind: 'copy' });
        const limit = makeLimit() as { timeoutMs?: number };
        const flushing = client.flush(limit);
        expect(await client.close({ timeoutMs: 0 })).toMatchObject({ sent: 0 });
        expect(await flushing).toMatchObject({ sent: 0 });
        expectBalance(client);
      }),
      { numRuns: 100 },
    );
  });

  it('never throws if the onDrop callback throws, rejects or tracks again', async () => {
    let calls = 0;
    const client: Client = openClient({
      url: nowhere,
      onDrop: () => {
        calls += 1;
        client.track(null as unknown as TrackedQuery);
        if (calls % 2 === 0) throw new Error('of the host');
        return Promise.reject(new Error('of the host')) as unknown as void;
      },
    });
    for (let i = 0; i < 10; i++) client.track(null as unknown as TrackedQuery);
    expect(calls).toBe(10);
    expect(client.stats().queries.dropped.invalid).toBe(20);
    // An unhandled rejection would end the host, and this test, within the next turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('never quotes tracked data in the reason of a drop', () => {
    const drops: Drop[] = [];
    const client = openClient({ url: nowhere, onDrop: (drop) => drops.push(drop) });
    const secret = 'my account is 4711';
    for (const field of ['id', 'text', 'error', 'sessionId', 'userId', 'pipeline', 'occurredAt', 'embedding']) {
      client.track({ results: [], [field]: [secret] });
    }
    client.track({ results: [{ id: [secret] }] } as unknown as TrackedQuery);
    client.track({ results: [], segments: { [secret.repeat(10)]: 'a' } });
    client.track({
      get results(): never {
        throw new Error(secret);
      },
    });
    client.feedback({ queryId: 'q', kind: secret } as unknown as TrackedFeedback);
    expect(drops).toHaveLength(12);
    expect(JSON.stringify(drops)).not.toContain('4711');
  });
});

describe('a client without a valid URL', () => {
  it('drops everything and reports the reason', async () => {
    const client = openClient({ url: '' });
    expect(client.track({ id: 'q-0', results: [] })).toBe('q-0');
    expect(client.stats().queries.dropped.disabled).toBe(1);
    expect(client.stats().problems).toEqual([
      'url must be an http or https address without a user name or password; nothing is sent.',
    ]);
    expect(await client.flush()).toEqual({ sent: 0, pending: 0 });
    expect(await client.close()).toEqual({ sent: 0, pending: 0 });
  });
});

describe('with a daemon that', () => {
  it('never answers, the queue stays within its limits and drops the oldest waiting items', async () => {
    const daemon = await startRecordingDaemon(hang());
    const drops: Drop[] = [];
    const client = openClient({
      url: daemon.url,
      maxQueue: 100,
      batchSize: 10,
      timeoutMs: 60_000,
      onDrop: (drop) => drops.push(drop),
    });
    const track = (from: number, to: number) => {
      for (let i = from; i < to; i++) client.track({ id: `q-${i}`, results: ['a'] });
    };
    track(0, 10);
    await client.flush({ timeoutMs: 200 });
    track(10, 1000);
    expect(client.stats().queries).toMatchObject({ offered: 1000, pending: 100, dropped: { overflow: 900 } });
    expect(drops.reduce((sum, { count }) => sum + count, 0)).toBe(900);

    daemon.respondWith(accept());
    await daemon.close();
    const again = await startRecordingDaemon(accept(), Number(new URL(daemon.url).port));
    expect(await client.flush({ timeoutMs: 30_000 })).toEqual({ sent: 100, pending: 0 });
    const ids = again.items('/v1/queries').map(({ id }) => id);
    const expected = [...Array.from({ length: 10 }, (_, i) => i), ...Array.from({ length: 90 }, (_, i) => 910 + i)];
    expect(ids).toEqual(expected.map((i) => `q-${i}`));
  });

  it('is down, the queue stays below its byte limit, however large the items are', () => {
    const client = openClient({ url: nowhere, maxQueueBytes: 200_000, maxQueue: 1000 });
    fc.assert(
      fc.property(fc.nat({ max: 99_000 }), fc.nat({ max: 16_000 }), (characters, dimensions) => {
        client.track({
          text: '界'.repeat(characters),
          embedding: new Float32Array(dimensions + 1),
          results: [],
        });
        client.feedback({ queryId: 'q', kind: 'thumb', comment: 'x'.repeat(characters) });
        expect(client.stats().queries.pendingBytes).toBeLessThanOrEqual(200_000);
        expect(client.stats().feedback.pendingBytes).toBeLessThanOrEqual(200_000);
        expectBalance(client);
      }),
    );
    const { dropped } = client.stats().queries;
    expect(dropped.overflow).toBeGreaterThan(0);
    expect(dropped.oversized).toBeGreaterThan(0);
  });

  it('fails in one way after another, no item is lost or counted twice', async () => {
    const daemon = await startRecordingDaemon(
      inTurn(
        status(503),
        (_request, response) => void response.socket?.resetAndDestroy(),
        accept([{ index: 0, code: 'text_too_long' }]),
        status(429, { 'retry-after': '0' }),
        status(400, {}, '<!doctype html>'),
        (_request, response) => void response.writeHead(202).end('no JSON'),
        hang(),
        accept(),
      ),
    );
    const client = openClient({ url: daemon.url, batchSize: 10, timeoutMs: 300 });
    for (let i = 0; i < 100; i++) client.track({ id: `q-${i}`, results: ['a'] });
    await client.flush({ timeoutMs: 60_000 });
    expect(client.stats().queries).toMatchObject({
      offered: 100,
      pending: 0,
      pendingBytes: 0,
      sent: 89,
      rejectedByCode: { text_too_long: 1, http_400: 10 },
    });
    expectBalance(client);
  }, 60_000);
});
