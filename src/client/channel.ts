/** One kind of record, queries or feedback, on its way from the host's call to the daemon. */
import type { Connection } from './connection.ts';
import { Delivery } from './delivery.ts';
import { InvalidField } from './fields.ts';
import type { Settings } from './options.ts';
import { Outbox } from './outbox.ts';
import type { ClientRecord } from './records.ts';
import { guardedListener, Tally } from './tally.ts';
import type { DeliveryStats, Drop, DropReason } from './types.ts';

const MAX_RECORD_BYTES = 1024 * 1024;

/** Why nothing is taken any more. */
type Refusal = Extract<DropReason, 'closed' | 'disabled'>;

export class Channel {
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
