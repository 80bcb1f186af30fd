import { beforeAll, describe, expect, it } from 'vitest';
import type { StoreOutcome, VectorStore } from '../../src/connectors/stores/vector-store.ts';
import { topicByTopic } from '../support/vector-documents.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Bench, never, type TestIndex, valueOf } from './vector-store-bench.ts';

const dimensions = 16;
const documents = topicByTopic({ count: 60, dimensions, topics: 3 });
const vector = documents[0]?.vector ?? new Float32Array(dimensions);
const request = { vector, k: 5, filter: {}, exact: false, withContent: false };

const everyCall: readonly [string, (store: VectorStore, signal: AbortSignal) => Promise<StoreOutcome<unknown>>][] = [
  ['search', (store, signal) => store.nearest(request, signal)],
  ['metadata request', (store, signal) => store.describe(signal)],
  ['look-up of ids', (store, signal) => store.existing(['doc-00001'], signal)],
  ['list of ids', (store, signal) => store.list(null, signal)],
  ['look-up of chunks', (store, signal) => store.chunks(['doc-00001'], signal)],
  ['sample', (store, signal) => store.sample({ n: 5, seed: 1, withContent: false }, signal)],
];

export function describeOutage(bench: Bench): void {
  if (bench.abilities.isInProcess === true) return;
  const calls = everyCall.filter(([name]) => name !== 'list of ids' || bench.abilities.lists !== false);

  describe('a store that is unreachable', () => {
    let index: TestIndex;
    beforeAll(async () => {
      index = await bench.makeIndex(documents, dimensions);
    });

    it('times out when it does not respond, on a new and on an established connection', async () => {
      for (const wasConnected of [false, true]) {
        const outage = await bench.startOutage();
        const store = bench.open(index, { url: outage.url, timeoutMs: wasConnected ? 2000 : 200 });
        if (wasConnected) valueOf(await store.nearest(request, never));
        outage.hold();
        const outcome = await store.nearest(request, never);
        expect(outcome).toMatchObject({ kind: 'failed', code: 'timeout' });
        expect(outcome.kind === 'failed' && outcome.message).toMatch(/timeout_ms.*\.$/);
      }
    });

    it('refuses connections when nothing listens', async () => {
      const outage = await bench.startOutage();
      const store = bench.open(index, { url: outage.url });
      await outage.refuse();
      for (const [, call] of calls) {
        expect(await call(store, never)).toMatchObject({
          kind: 'failed',
          code: 'connection_refused',
          message: expect.stringMatching(/^\S.*\.$/) as unknown,
        });
      }
    });

    it.each(calls)(
      'rejects a %s with the reason of the signal, before the call and while the call waits',
      async (_, call) => {
        const outage = await bench.startOutage();
        const store = bench.open(index, { url: outage.url });
        const reason = new Error('the run was cancelled');
        await expect(call(store, AbortSignal.abort(reason))).rejects.toBe(reason);
        outage.hold();
        const controller = new AbortController();
        const pending = call(store, controller.signal);
        pending.catch(() => undefined);
        await waitFor(() => outage.openConnections > 0);
        controller.abort(reason);
        await expect(pending).rejects.toBe(reason);
      },
    );

    it('is retried over HTTP when it is busy, as often as configured', async ({ skip }) => {
      const outage = await bench.startOutage();
      if (outage.answer === undefined) return skip();
      const patient = bench.open(index, { url: outage.url, retries: 2 });
      valueOf(await patient.describe(never));
      outage.answer(429, 503);
      valueOf(await patient.nearest(request, never));
      outage.answer(500, 500, 500);
      const outcome = await patient.nearest(request, never);
      expect(outcome).toMatchObject({ kind: 'failed', code: 'http_500' });
    });

    it('has no open connection after the adapter is closed', async () => {
      const outage = await bench.startOutage();
      const store = bench.open(index, { url: outage.url });
      for (const [, call] of calls) valueOf(await call(store, never));
      expect(outage.openConnections).toBeGreaterThan(0);
      await store.close();
      // Idle HTTP connections close by themselves after 4 s, so the test waits for less than 4 s.
      await waitFor(() => outage.openConnections === 0, { timeoutMs: 3000 });
    });
  });
}
