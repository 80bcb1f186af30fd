/**
 * Queues records and sends them to one path of the daemon. Each request contains one batch, and only one request is
 * pending at a time. A batch is retried until the daemon has accepted or rejected it.
 */
import { Buffer } from 'node:buffer';
// `setImmediate` keeps the process alive for the turn, because an unreferenced timer would not wake the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Body, Connection, Reply } from './connection.ts';
import { Pause } from './exit.ts';
import { InvalidField, type Settings } from './options.ts';
import { guardedListener, Outbox, Tally } from './outbox.ts';
import { type ClientRecord, recordToJson } from './records.ts';
import type { DeliveryStats, Drop, DropReason } from './types.ts';

type Verdict = ReturnType<typeof classifyReply>;

type Processed = Extract<Verdict, { kind: 'processed' }>;

const RETRYABLE = new Set([429, 502, 503, 504]);

/**
 * Maximum number of codes that are counted separately. The daemon uses fewer codes than this; any codes above the
 * maximum are counted together.
 */
const MAX_CODES = 32;

/**
 * Classifies the reply to a batch of `items` items:
 *
 * - `processed`: the daemon accepted all items except those in `rejected`, which counts items by code.
 * - `too_large`: the items must be sent again in smaller batches.
 * - `retry`: the same batch must be sent again later.
 * - `encoding_refused`: the same batch must be sent again immediately, without gzip.
 */
export function classifyReply(reply: Reply, items: number) {
  if (reply.kind === 'failure') return { kind: 'retry' as const, error: reply.reason, retryAfter: null };
  const { status, retryAfter } = reply;
  const error = `HTTP ${status}`;
  if (RETRYABLE.has(status)) return { kind: 'retry' as const, error, retryAfter };
  if (status === 413) return { kind: 'too_large' as const, error };
  if (status === 415) return { kind: 'encoding_refused' as const, error };
  const body = parse(reply.body);
  if (status >= 200 && status < 300) {
    return {
      kind: 'processed' as const,
      rejected: countCodes(body['rejected'], items),
      duplicates: countOf(body['duplicates'], items),
      error: null,
    };
  }
  return refused(items, status, countCodes(body['rejected'], items));
}

/**
 * Returns the result for a batch that is rejected as a whole. Counts items by the code that the response gives for
 * them, and all other items by the status.
 */
function refused(items: number, status: number, named: ReadonlyMap<string, number> = new Map()) {
  const unnamed = items - [...named.values()].reduce((sum, count) => sum + count, 0);
  const rejected = new Map(named);
  if (unnamed > 0) rejected.set(`http_${status}`, unnamed);
  return { kind: 'processed' as const, rejected, duplicates: 0, error: `HTTP ${status}` };
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // The response comes from an intermediary, such as a proxy; only its status is usable.
  }
  return {};
}

function countCodes(rejected: unknown, items: number): Map<string, number> {
  const counts = new Map<string, number>();
  if (!Array.isArray(rejected)) return counts;
  for (const rejection of rejected.slice(0, items) as unknown[]) {
    const known = codeOf(rejection);
    const code = counts.has(known) || counts.size < MAX_CODES ? known : 'other';
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return counts;
}

function codeOf(rejection: unknown): string {
  const code = (rejection as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(code) ? code : 'other';
}

function countOf(value: unknown, most: number): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? Math.min(value, most) : 0;
}

/** Maximum wait, whether the client chose it or the daemon requested it. */
const MAX_RETRY_DELAY_MS = 60_000;

const BASE_DELAY_MS = 500;

/**
 * Exponential back-off with full jitter: uniform in [0, min(60 s, 0.5 s x 2^(attempt - 1))], added to the daemon's
 * Retry-After, with a total of at most 60 s. Jitter is added to Retry-After too; otherwise, all hosts that were
 * rejected together would retry together.
 *
 * @param attempt number of attempts made so far, from 1
 * @param random uniform in [0, 1)
 * @param now milliseconds since the epoch, for a Retry-After that is a date (RFC 9110, section 10.2.3)
 */
export function retryDelayMs(attempt: number, retryAfter: string | null, random: number, now: number): number {
  const jitterMs = random * Math.min(MAX_RETRY_DELAY_MS, BASE_DELAY_MS * 2 ** (attempt - 1));
  return Math.min(MAX_RETRY_DELAY_MS, retryAfterMs(retryAfter, now) + jitterMs);
}

/** Converts seconds or an HTTP date into milliseconds from `now`; 0 if Retry-After is missing or invalid. */
export function retryAfterMs(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0;
  const text = retryAfter.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

/** Maximum time to work without yielding to the host, which then handles input, output and expired timers. */
const SLICE_MS = 1;

/** Minimum size for compression. Smaller bodies fit into one packet even uncompressed. */
const GZIP_FROM_BYTES = 1024;

const gzipInThreadPool = promisify(gzip);

/** Encodes the records as a JSON array. */
async function encodeBatch(records: readonly ClientRecord[]): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let sliceEnd = performance.now() + SLICE_MS;
  for (const [index, record] of records.entries()) {
    if (performance.now() >= sliceEnd) {
      await nextTurn();
      sliceEnd = performance.now() + SLICE_MS;
    }
    const end = index === records.length - 1 ? ']' : ',';
    parts.push(Buffer.from(`${index === 0 ? '[' : ''}${recordToJson(record)}${end}`));
  }
  return Buffer.concat(parts);
}

/** Maximum estimated size of a batch, far below the usual limits of servers and proxies. */
const BATCH_BYTES = 512 * 1024;

const FAULT_PAUSE_MS = 1000;

const MAX_RECORD_BYTES = 1024 * 1024;

interface Waiter {
  readonly target: number;
  readonly done: () => void;
}

/** Queues and delivers one kind of record: queries or feedback. */
export class Channel {
  readonly #path: string;
  readonly #outbox: Outbox<ClientRecord>;
  readonly #tally: Tally;
  readonly #connection: Connection;
  readonly #settings: Settings;
  readonly #maxRecordBytes: number;
  /** Reason why the channel drops every new record. */
  #refusal: Extract<DropReason, 'closed' | 'disabled'> | null;
  /** Maximum batch size in bytes; reduced when the daemon rejects a batch as too large. */
  #batchBytes = BATCH_BYTES;
  #isGzipTaken = true;
  #isStopped = false;
  readonly #idle = new Pause();
  readonly #backOff = new Pause();
  /** True if the daemon requested the current wait (Retry-After). */
  #isRetryAfter = false;
  #underWay: readonly ClientRecord[] = [];
  /** Until this many records are completed, batches are sent even if they are not full. */
  #flushTarget = 0;
  readonly #waiters = new Set<Waiter>();

  /**
   * Starts the loop. The loop's timers and requests belong to the creator of the channel, not to the caller that offers
   * a record. Otherwise, the traces and other async context of one host request would leak into every batch.
   */
  constructor(what: Drop['what'], connection: Connection, settings: Settings) {
    this.#path = `/v1/${what}`;
    this.#tally = new Tally(what, guardedListener(settings.onDrop));
    this.#outbox = new Outbox({ maxItems: settings.maxQueue, maxBytes: settings.maxQueueBytes });
    this.#connection = connection;
    this.#settings = settings;
    this.#maxRecordBytes = Math.min(MAX_RECORD_BYTES, settings.maxQueueBytes);
    this.#refusal = settings.url === null ? 'disabled' : null;
    this.#run().catch(() => undefined);
  }

  get sent(): number {
    return this.#tally.sent;
  }

  get pending(): number {
    return this.#outbox.pending;
  }

  stats(): DeliveryStats {
    return this.#tally.stats(this.#outbox.pending, this.#outbox.pendingBytes);
  }

  /**
   * Counts one call by the host and queues the record that `make` returns. If `make` returns null, sampling has
   * excluded the record.
   */
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
      // Only the message of an InvalidField is used; any other message comes from the host and may quote personal data.
      this.#tally.drop('invalid', 1, error instanceof InvalidField ? error.message : 'the item is malformed');
      return;
    }
    if (record === null) {
      this.#tally.sampledOut += 1;
    } else if (record.bytes > this.#maxRecordBytes) {
      this.#tally.drop('oversized', 1, `it is larger than ${this.#maxRecordBytes} bytes`);
    } else {
      this.#tally.drop('overflow', this.#outbox.push(record), 'the queue was full');
      if (this.#outbox.waiting === 1 || this.#isDue()) this.#idle.end();
      this.#notifyWaiters();
    }
  }

  /**
   * Sends all queued records now. Calls `done` once every record has been delivered or dropped. Returns a function that
   * cancels the wait.
   */
  flush(done: () => void): () => void {
    const waiter = { target: this.#outbox.pushed, done };
    this.#flushTarget = waiter.target;
    this.#waiters.add(waiter);
    this.#idle.end();
    this.#notifyWaiters();
    return () => {
      this.#waiters.delete(waiter);
    };
  }

  /**
   * Stops accepting records. Ends a back-off that the client chose, so that the queued records are immediately sent
   * once more. Does not end a wait that the daemon requested.
   */
  startClosing(): void {
    this.#refusal ??= 'closed';
    if (!this.#isRetryAfter) this.#backOff.end();
  }

  /** Ends the loop after the pending request, and drops queued records. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#idle.end();
    this.#backOff.end();
    this.#tally.drop('closed', this.#outbox.clear(), 'it was not delivered before the client was closed');
    this.#notifyWaiters();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#waitUntilDue();
        if (!this.#isStopped) await this.#sendBatch();
      } catch (error) {
        this.#abandonBatch(error);
        // A permanent fault must not cause a busy loop.
        await this.#backOff.wait(FAULT_PAUSE_MS);
      }
      this.#notifyWaiters();
    }
  }

  #isDue(): boolean {
    const { waiting, waitingBytes, done } = this.#outbox;
    return waiting >= this.#settings.batchSize || waitingBytes >= this.#batchBytes || done < this.#flushTarget;
  }

  async #waitUntilDue(): Promise<void> {
    while (this.#outbox.waiting === 0 && !this.#isStopped) await this.#idle.wait();
    const end = performance.now() + this.#settings.flushIntervalMs;
    while (!this.#isDue() && !this.#isStopped) {
      const leftMs = end - performance.now();
      if (leftMs <= 0) break;
      await this.#idle.wait(leftMs);
    }
    // The loop may have been resumed in the middle of the host's work.
    await nextTurn();
  }

  async #sendBatch(): Promise<void> {
    const batch = this.#outbox.take(this.#settings.batchSize, this.#batchBytes);
    this.#underWay = batch;
    const body = await encodeBatch(batch);
    const verdict = await this.#deliver(body, batch.length);
    if (verdict === null || this.#isStopped) return;
    this.#underWay = [];
    if (verdict.kind === 'too_large' && batch.length > 1) {
      this.#batchBytes = batch.reduce((sum, { bytes }) => sum + bytes, 0) / 2;
      this.#outbox.putBack(batch);
      await this.#sendBatch();
      return;
    }
    this.#outbox.release(batch);
    this.#count(verdict.kind === 'too_large' ? refused(batch.length, 413) : verdict, batch.length);
  }

  /**
   * Sends a body, repeatedly if necessary, until the daemon accepts or rejects it. Returns null if the client is
   * stopped first.
   */
  async #deliver(
    plain: Uint8Array,
    items: number,
  ): Promise<Exclude<Verdict, { kind: 'retry' | 'encoding_refused' }> | null> {
    const tally = this.#tally;
    const isLarge = plain.length >= GZIP_FROM_BYTES;
    const compressed = this.#isGzipTaken && isLarge ? await gzipInThreadPool(plain).catch(() => null) : null;
    let body: Body = { bytes: compressed ?? plain, isCompressed: compressed !== null };
    for (let attempt = 1; !this.#isStopped; attempt += 1) {
      const reply = await this.#connection.post(this.#path, body);
      if (this.#isStopped) break;
      tally.requests += 1;
      const verdict = classifyReply(reply, items);
      tally.lastError = verdict.error;
      switch (verdict.kind) {
        case 'processed':
        case 'too_large':
          return verdict;
        case 'encoding_refused':
          if (!body.isCompressed) return refused(items, 415);
          this.#isGzipTaken = false;
          body = { bytes: plain, isCompressed: false };
          break;
        case 'retry':
          tally.retries += 1;
          await this.#waitToRetry(attempt, verdict.retryAfter);
      }
    }
    return null;
  }

  async #waitToRetry(attempt: number, retryAfter: string | null): Promise<void> {
    const now = Date.now();
    this.#isRetryAfter = retryAfterMs(retryAfter, now) > 0;
    await this.#backOff.wait(retryDelayMs(attempt, retryAfter, Math.random(), now));
    this.#isRetryAfter = false;
  }

  #count({ rejected, duplicates }: Processed, items: number): void {
    let sent = items;
    for (const [code, count] of rejected) {
      sent -= count;
      this.#tally.reject(code, count);
    }
    this.#tally.sent += sent;
    this.#tally.duplicates += duplicates;
  }

  /** Drops a batch after an internal fault, because such a fault must never harm the host or later batches. */
  #abandonBatch(error: unknown): void {
    if (this.#isStopped) return;
    this.#outbox.release(this.#underWay);
    this.#tally.drop('failed', this.#underWay.length, error instanceof Error ? error.name : 'unknown');
    this.#underWay = [];
  }

  #notifyWaiters(): void {
    for (const waiter of this.#waiters) {
      if (waiter.target > this.#outbox.done) continue;
      this.#waiters.delete(waiter);
      waiter.done();
    }
  }
}
