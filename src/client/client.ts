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
 * recalld recognises what is sent twice. No packages, nothing of recalld beside this folder and the rule by which documents
 * without an id are called; Node.js 18, Bun, Deno.
 */
import { randomUUID } from 'node:crypto';
import { type Connection, openConnection } from './connection.ts';
import { Delivery } from './delivery.ts';
import { waitAtMost, watchExit } from './exit.ts';
import {
  InvalidField,
  readFlushTimeout,
  readIdentifier,
  readObject,
  readOptions,
  required,
  type Settings,
} from './options.ts';
import { guardedListener, Outbox, Tally } from './outbox.ts';
import { type ClientRecord, createFeedbackRecord, createQueryRecord } from './records.ts';
import type { Client, ClientOptions, DeliveryStats, Drop, DropReason, FlushResult } from './types.ts';

const MAX_RECORD_BYTES = 1024 * 1024;

/** Why nothing is taken any more. */
type Refusal = Extract<DropReason, 'closed' | 'disabled'>;

/** One kind of record, queries or feedback, on its way from the host's call to the daemon. */
class Channel {
  readonly #tally: Tally;
  readonly #outbox: Outbox<ClientRecord>;
  readonly #delivery: Delivery | null;
  readonly #maxRecordBytes: number;
  #refusal: Refusal | null;

  /** Without a connection everything is dropped. */
  constructor(what: Drop['what'], connection: Connection | null, settings: Settings) {
    this.#tally = new Tally(what, guardedListener(settings.onDrop));
    this.#outbox = new Outbox({ maxItems: settings.maxQueue, maxBytes: settings.maxQueueBytes });
    this.#delivery =
      connection && new Delivery(this.#outbox, this.#tally, connection, { ...settings, path: `/v1/${what}` });
    this.#maxRecordBytes = Math.min(MAX_RECORD_BYTES, settings.maxQueueBytes);
    this.#refusal = connection === null ? 'disabled' : null;
    this.#delivery?.start();
  }

  get sent(): number {
    return this.#tally.sent;
  }

  get pending(): number {
    return this.#outbox.pending;
  }

  /** Counts one call of the host and takes the record that `make` gives. Null is a record that is sampled out. */
  offer(make: () => ClientRecord | null): void {
    this.#tally.offered += 1;
    if (this.#refusal !== null) {
      this.#tally.drop(this.#refusal, 1, `the client is ${this.#refusal}`);
      return;
    }
    let record: ClientRecord | null;
    try {
      record = make();
    } catch (error) {
      // The message of any other error is the host's, so it may quote personal data.
      this.#tally.drop('invalid', 1, error instanceof InvalidField ? error.message : 'it cannot be read');
      return;
    }
    if (record === null) {
      this.#tally.sampledOut += 1;
    } else if (record.bytes > this.#maxRecordBytes) {
      this.#tally.drop('oversized', 1, `it takes more than ${this.#maxRecordBytes} bytes`);
    } else {
      this.#tally.drop('overflow', this.#outbox.push(record), 'the queue was full');
      this.#delivery?.notice();
    }
  }

  /** Sends what is there; calls `done` when it has left. Returns a function for a caller who waits no longer. */
  flush(done: () => void): () => void {
    if (this.#delivery !== null) return this.#delivery.flush(done);
    done();
    return () => undefined;
  }

  /** Takes nothing more, and tries once more at once to send what is there. */
  startClosing(): void {
    this.#refusal ??= 'closed';
    this.#delivery?.hurry();
  }

  /** Stops for good and drops what is left. */
  stop(): void {
    this.#delivery?.stop();
  }

  stats(): DeliveryStats {
    return this.#tally.stats(this.#outbox.pending, this.#outbox.pendingBytes);
  }
}

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
    connection?.close();
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
