/**
 * Reports live queries and feedback to recalld from within the service that receives them.
 *
 *   const client = createClient({ url: 'http://127.0.0.1:8321', pipeline: 'support-docs' });
 *   const id = client.track({ text: 'how do I reset it?', results: [{ id: 'doc-7', score: 0.83 }] });
 *   client.feedback({ queryId: id, kind: 'thumb', value: 'up' });
 *   await client.close();
 *
 * The service, called the host here, has priority: a call copies its argument and returns, and the client does all
 * other work while the host is idle. Memory is bounded, and items that cannot be delivered are dropped and counted.
 * Each item gets an id immediately, so that recalld recognizes duplicates. The client has no dependencies; of recalld's
 * code, it uses only this folder and the rule that derives missing document ids. The client runs on Node.js 18, Bun and
 * Deno.
 */
import { randomUUID } from 'node:crypto';
import { openConnection } from './connection.ts';
import { Channel } from './delivery.ts';
import { waitAtMost, watchExit } from './exit.ts';
import { readFlushTimeout, readIdentifier, readObject, readOptions, required } from './options.ts';
import { createFeedbackRecord, createQueryRecord } from './records.ts';
import type { Client, ClientOptions, FlushResult } from './types.ts';

/**
 * Number of hash values. Sampling by session or episode uses a hash, so all processes of the host sample the same
 * sessions and episodes.
 */
const HASH_RANGE = 2 ** 32;

/**
 * Returns true if a key falls into the sample, for a rate in [0, 1]. The result for a key never changes, and a key that
 * is sampled at one rate is also sampled at every higher rate.
 */
export function isSampled(key: string, rate: number): boolean {
  return hash(key) < rate * HASH_RANGE;
}

/**
 * FNV-1a over the UTF-16 code units, mixed by the MurmurHash3 finalizer, because FNV leaves the upper bits of short
 * keys uneven. The hash must differ from the daemon's SHA-256. If client and daemon used the same function, the daemon
 * would sample either all or none of the sessions that it receives, instead of the share that its config sets.
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
  TrackedEpisode,
  TrackedFeedback,
  TrackedQuery,
} from './types.ts';

/**
 * Creates a client. Nothing is sent before the first item. One client serves a whole process: create it at start-up.
 * `stats().problems` lists invalid options.
 */
export function createClient(options: ClientOptions): Client {
  const settings = readOptions(options);
  const { url, headers, timeoutMs, pipeline, sampleRate } = settings;
  // Without a valid URL, the channels drop all items, so this address is never used.
  const connection = openConnection(url ?? new URL('http://disabled.invalid'), headers, timeoutMs);
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

  const forget = watchExit({
    pending: () => ({ queries: queries.pending, feedback: feedback.pending }),
    flush,
    giveUp() {
      const { lastError } = queries.stats();
      stop();
      return lastError ?? feedback.stats().lastError;
    },
    isSilent: settings.onDrop !== undefined,
  });

  function stop(): void {
    queries.stop();
    feedback.stop();
    connection.close();
  }

  async function close(limitMs: number): Promise<FlushResult> {
    forget();
    queries.startClosing();
    feedback.startClosing();
    const result = await flush(limitMs);
    stop();
    return result;
  }

  return {
    track(query) {
      const id = identifierOf(query) ?? randomUUID();
      queries.offer(() => {
        const given = readArgument(query, 'query');
        const unit =
          readIdentifier(given['sessionId'], 'sessionId') ??
          readIdentifier(readObject(given['episode'], 'episode')?.['id'], 'episode.id');
        if (!isSampled(unit ?? id, sampleRate)) return null;
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

/** Reads an argument from the host. In JavaScript, the value may have any type. */
function readArgument(value: unknown, name: string): Readonly<Record<string, unknown>> {
  return required(readObject(value, name), name);
}

/** Returns the id that the host assigned to a query; undefined if it is missing or invalid. Never throws. */
function identifierOf(query: unknown): string | undefined {
  try {
    return readIdentifier(readArgument(query, 'query')['id'], 'id');
  } catch {
    return undefined;
  }
}
