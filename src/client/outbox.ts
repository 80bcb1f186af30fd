/**
 * Queue of records that are waiting or being sent, limited by number and by bytes. If the queue is full, the oldest
 * waiting record is dropped. Counts the outcomes of each kind of record.
 */
import type { DeliveryStats, Drop, DropReason } from './types.ts';

/** A queue of fixed capacity with constant-time operations. It never drops elements. */
export class RingBuffer<T> {
  readonly #slots: (T | undefined)[];
  #first = 0;
  #length = 0;

  constructor(capacity: number) {
    this.#slots = Array.from({ length: capacity });
  }

  get length(): number {
    return this.#length;
  }

  /** The oldest element; undefined if the buffer is empty. */
  get first(): T | undefined {
    return this.#slots[this.#first];
  }

  /** Adds an element at the end. Throws RangeError if the buffer is full. */
  push(element: T): void {
    this.#assertRoom();
    this.#slots[(this.#first + this.#length) % this.#slots.length] = element;
    this.#length += 1;
  }

  /** Adds an element at the front. Throws RangeError if the buffer is full. */
  unshift(element: T): void {
    this.#assertRoom();
    this.#first = (this.#first + this.#slots.length - 1) % this.#slots.length;
    this.#slots[this.#first] = element;
    this.#length += 1;
  }

  /** Removes and returns the oldest element; undefined if the buffer is empty. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const element = this.#slots[this.#first];
    // Clears the slot, so that the removed element can be garbage-collected.
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#slots.length;
    this.#length -= 1;
    return element;
  }

  #assertRoom(): void {
    if (this.#length === this.#slots.length) throw new RangeError('The ring buffer is full.');
  }
}

interface Sized {
  readonly bytes: number;
}

interface OutboxLimits {
  readonly maxItems: number;
  readonly maxBytes: number;
}

export class Outbox<R extends Sized> {
  readonly #limits: OutboxLimits;
  readonly #waiting: RingBuffer<R>;
  #waitingBytes = 0;
  #underWay = 0;
  #underWayBytes = 0;
  #pushed = 0;

  constructor(limits: OutboxLimits) {
    this.#limits = limits;
    this.#waiting = new RingBuffer(limits.maxItems);
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Number of records that are waiting or being sent. */
  get pending(): number {
    return this.#waiting.length + this.#underWay;
  }

  get pendingBytes(): number {
    return this.#waitingBytes + this.#underWayBytes;
  }

  /** Number of records that have been pushed in total. */
  get pushed(): number {
    return this.#pushed;
  }

  /**
   * Number of completed records, which are no longer waiting or being sent. Records complete in the order in which they
   * were pushed.
   */
  get done(): number {
    return this.#pushed - this.pending;
  }

  /**
   * Adds a record, dropping the oldest waiting records if it needs their room. If the records that are being sent leave
   * no room for the new record, drops only the new record. Returns the number of records that it dropped.
   */
  push(record: R): number {
    this.#pushed += 1;
    const { maxItems, maxBytes } = this.#limits;
    if (this.#underWay >= maxItems || this.#underWayBytes + record.bytes > maxBytes) return 1;
    let dropped = 0;
    while (this.pending >= maxItems || this.pendingBytes + record.bytes > maxBytes) {
      this.#waitingBytes -= this.#waiting.shift()?.bytes ?? 0;
      dropped += 1;
    }
    this.#waiting.push(record);
    this.#waitingBytes += record.bytes;
    return dropped;
  }

  /**
   * Removes the oldest records and returns them for sending: at most `maxItems`, and at most `maxBytes` unless a single
   * record is larger.
   */
  take(maxItems: number, maxBytes: number): R[] {
    const taken: R[] = [];
    let bytes = 0;
    while (taken.length < maxItems) {
      const next = this.#waiting.first;
      if (next === undefined || (taken.length > 0 && bytes + next.bytes > maxBytes)) break;
      this.#waiting.shift();
      taken.push(next);
      bytes += next.bytes;
    }
    this.#waitingBytes -= bytes;
    this.#underWay += taken.length;
    this.#underWayBytes += bytes;
    return taken;
  }

  /** Removes records that were sent or dropped. */
  release(records: readonly R[]): void {
    this.#underWay -= records.length;
    for (const record of records) this.#underWayBytes -= record.bytes;
  }

  /** Puts the most recently removed records back at the head of the queue. */
  putBack(records: readonly R[]): void {
    this.release(records);
    for (let i = records.length - 1; i >= 0; i--) {
      const record = records[i];
      if (record === undefined) continue;
      this.#waiting.unshift(record);
      this.#waitingBytes += record.bytes;
    }
  }

  /** Removes everything, including records that are being sent. Returns the number of removed records. */
  clear(): number {
    const count = this.pending;
    while (this.#waiting.shift() !== undefined);
    this.#waitingBytes = 0;
    this.#underWay = 0;
    this.#underWayBytes = 0;
    return count;
  }
}

/**
 * Maximum number of rejection codes that are counted separately. A limit is necessary, because the codes come from the
 * daemon, or from any other server that responds at its address.
 */
const MAX_CODES = 100;

export class Tally {
  offered = 0;
  sampledOut = 0;
  sent = 0;
  duplicates = 0;
  requests = 0;
  retries = 0;
  lastError: string | null = null;
  readonly #what: Drop['what'];
  readonly #tell: (drop: Drop) => void;
  readonly #dropped: Record<DropReason, number> = {
    invalid: 0,
    oversized: 0,
    overflow: 0,
    rejected: 0,
    closed: 0,
    disabled: 0,
    failed: 0,
  };
  readonly #rejectedByCode = new Map<string, number>();

  constructor(what: Drop['what'], tell: (drop: Drop) => void) {
    this.#what = what;
    this.#tell = tell;
  }

  /** Counts records that will not be delivered and notifies the host. */
  drop(reason: DropReason, count: number, detail: string): void {
    if (count <= 0) return;
    this.#dropped[reason] += count;
    this.#tell({ what: this.#what, reason, count, detail });
  }

  /** Counts records that the daemon rejected. */
  reject(code: string, count: number): void {
    const key = this.#rejectedByCode.has(code) || this.#rejectedByCode.size < MAX_CODES ? code : 'other';
    this.#rejectedByCode.set(key, (this.#rejectedByCode.get(key) ?? 0) + count);
    this.drop('rejected', count, code);
  }

  stats(pending: number, pendingBytes: number): DeliveryStats {
    return {
      offered: this.offered,
      sampledOut: this.sampledOut,
      sent: this.sent,
      duplicates: this.duplicates,
      pending,
      pendingBytes,
      dropped: { ...this.#dropped },
      rejectedByCode: Object.fromEntries(this.#rejectedByCode),
      requests: this.requests,
      retries: this.retries,
      lastError: this.lastError,
    };
  }
}

/**
 * Wraps the host's callback so that it cannot harm the client: its exceptions and rejections are ignored. If the
 * callback itself causes drops, they are counted without calling it again, which prevents infinite recursion.
 */
export function guardedListener(onDrop: ((drop: Drop) => unknown) | undefined): (drop: Drop) => void {
  let isTelling = false;
  return (drop) => {
    if (onDrop === undefined || isTelling) return;
    isTelling = true;
    try {
      const said = onDrop(drop);
      if (typeof said === 'object' && said !== null) Promise.resolve(said).catch(() => undefined);
    } catch {
      // A fault in the host's callback is not handled here.
    } finally {
      isTelling = false;
    }
  };
}
