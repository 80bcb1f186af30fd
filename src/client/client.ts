/**
 * Tells recalld of live queries and feedback, from within the service that answers them.
 *
 *   const client = createClient({ url: 'http://127.0.0.1:8321', pipeline: 'support-docs' });
 *   const id = client.track({ text: 'how do I reset it?', results: [{ id: 'doc-7', score: 0.83 }] });
 *   client.feedback({ queryId: id, kind: 'thumb', value: 'up' });
 *   await client.close();
 *
 * The host comes first: a call copies its argument and returns, everything else happens between the host's own work,
 * memory is bounded, and what cannot be delivered is dropped and counted. Each item has an id from the start, so that
 * recalld recognises what is sent twice. No packages, nothing of recalld beside this folder; Node.js 18, Bun, Deno.
 */
import { randomUUID } from 'node:crypto';
import { Channel } from './channel.ts';
import { openConnection } from './connection.ts';
import { readIdentifier, readObject, required } from './fields.ts';
import { readFlushTimeout, readOptions } from './options.ts';
import { createFeedbackRecord, createQueryRecord } from './records.ts';
import { waitAtMost } from './timers.ts';
import type { Client, ClientOptions, FlushResult } from './types.ts';

/** Local sampling: which sessions are told at all, the same ones in every process of the host. */
const HASH_RANGE = 2 ** 32;

/**
 * Whether a key falls into the sample, for a rate in [0, 1]. The same key is always decided alike, and a key that is
 * kept at a rate is kept at every higher one.
 */
export function isSampled(key: string, rate: number): boolean {
  return hash(key) < rate * HASH_RANGE;
}

/**
 * FNV-1a over the UTF-16 units, mixed by the finalizer of MurmurHash3, since FNV alone leaves the upper bits of short
 * keys uneven. It must stay another function than the daemon's SHA-256: were they one, the daemon would keep all or
 * none of what is sent to it, instead of its own share.
 */
function hash(key: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) h = Math.imul(h ^ key.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export type {
  Client,
  ClientOptions,
  ClientStats,
  DeliveryStats,
  Drop,
  DropReason,
  FlushOptions,
  FlushResult,
  Identifier,
  RankedDocument,
  TrackedFeedback,
  TrackedQuery,
} from './types.ts';

/**
 * Opens a client; nothing is sent before the first item. One client serves a whole process: create it at start-up.
 * Options that cannot be used are named in `stats().problems`.
 */
export function createClient(options: ClientOptions): Client {
  const settings = readOptions(options);
  const { url, headers, timeoutMs, pipeline, sampleRate } = settings;
  const connection = url === null ? null : openConnection(url, headers, timeoutMs);
  const queries = new Channel('queries', connection, settings);
  const feedback = new Channel('feedback', connection, settings);
  let closing: Promise<FlushResult> | undefined;

  async function flush(limitMs: number): Promise<FlushResult> {
    const sent = () => queries.sent + feedback.sent;
    const sentBefore = sent();
    const cancels: (() => void)[] = [];
    const flushes = [queries, feedback].map(
      (channel) => new Promise<void>((resolve) => cancels.push(channel.flush(resolve))),
    );
    await waitAtMost(Promise.all(flushes), limitMs);
    for (const cancel of cancels) cancel();
    return { sent: sent() - sentBefore, pending: queries.pending + feedback.pending };
  }

  async function close(limitMs: number): Promise<FlushResult> {
    queries.startClosing();
    feedback.startClosing();
    const result = await flush(limitMs);
    queries.stop();
    feedback.stop();
    connection?.close();
    return result;
  }

  return {
    track(query) {
      const id = identifierOf(query) ?? randomUUID();
      queries.offer(() => {
        const given = readArgument(query, 'query');
        const session = readIdentifier(given['sessionId'], 'sessionId');
        if (!isSampled(session ?? id, sampleRate)) return null;
        return createQueryRecord(given, { id, pipeline, now: Date.now(), sampleRate });
      });
      return id;
    },
    feedback(item) {
      feedback.offer(() =>
        createFeedbackRecord(readArgument(item, 'feedback'), { id: randomUUID(), pipeline, now: Date.now() }),
      );
    },
    flush: (limit) => flush(readFlushTimeout(limit)),
    close: (limit) => (closing ??= close(readFlushTimeout(limit))),
    stats: () => ({ queries: queries.stats(), feedback: feedback.stats(), problems: settings.problems }),
  };
}

/** An argument of the host, which may be anything in JavaScript, whatever its type says. */
function readArgument(value: unknown, name: string): Readonly<Record<string, unknown>> {
  return required(readObject(value, name), name);
}

/** The id that the host gave to a query, undefined when it gave none that can be used. Never throws. */
function identifierOf(query: unknown): string | undefined {
  try {
    return readIdentifier(readArgument(query, 'query')['id'], 'id');
  } catch {
    return undefined;
  }
}
