/**
 * What waits to be sent and what is under way, bounded in items and in bytes; the oldest that waits gives way. What
 * became of each kind of record is counted and told.
 */
import type { DeliveryStats, Drop, DropReason } from './types.ts';

/** A queue of fixed capacity in which every operation takes constant time; it drops nothing by itself. */
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

  /** The oldest element, undefined when there is none. */
  get first(): T | undefined {
    return this.#slots[this.#first];
  }

  /** Adds the newest element. Throws RangeError when the buffer is full. */
  push(element: T): void {
    this.#assertRoom();
    this.#slots[(this.#first + this.#length) % this.#slots.length] = element;
    this.#length += 1;
  }

  /** Puts an element back before the oldest. Throws RangeError when the buffer is full. */
  unshift(element: T): void {
    this.#assertRoom();
    this.#first = (this.#first + this.#slots.length - 1) % this.#slots.length;
    this.#slots[this.#first] = element;
    this.#length += 1;
  }

  /** Removes and returns the oldest element, undefined when there is none. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const element = this.#slots[this.#first];
    // An element that has left must not be kept alive by its slot.
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
  #entered = 0;

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

  /** Waiting or under way. */
  get pending(): number {
    return this.#waiting.length + this.#underWay;
  }

  get pendingBytes(): number {
    return this.#waitingBytes + this.#underWayBytes;
  }

  /** How many records were ever pushed. */
  get entered(): number {
    return this.#entered;
  }

  /** How many of them are neither waiting nor under way any more. They leave in the order in which they came. */
  get left(): number {
    return this.#entered - this.pending;
  }

  /**
   * Adds a record. Returns how many were dropped to make room: the oldest that wait, or the new one alone when what
   * is under way leaves no room for it.
   */
  push(record: R): number {
    this.#entered += 1;
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

  /** Moves the oldest records under way: at most `maxItems`, and at most `maxBytes` unless one alone has more. */
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

  /** The records are under way no more: delivered or given up. */
  settle(records: readonly R[]): void {
    this.#underWay -= records.length;
    for (const record of records) this.#underWayBytes -= record.bytes;
  }

  /** Puts records that were taken last back to the head of the queue. */
  putBack(records: readonly R[]): void {
    this.settle(records);
    for (let i = records.length - 1; i >= 0; i--) {
      const record = records[i];
      if (record === undefined) continue;
      this.#waiting.unshift(record);
      this.#waitingBytes += record.bytes;
    }
  }

  /** Forgets everything, under way or not; returns how many records that were. */
  clear(): number {
    const count = this.pending;
    while (this.#waiting.shift() !== undefined);
    this.#waitingBytes = 0;
    this.#underWay = 0;
    this.#underWayBytes = 0;
    return count;
  }
}

/** Codes come from the daemon, or from whatever answers in its place. */
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

  /** Counts records that will not be delivered and tells the host. */
  drop(reason: DropReason, count: number, detail: string): void {
    if (count <= 0) return;
    this.#dropped[reason] += count;
    this.#tell({ what: this.#what, reason, count, detail });
  }

  /** Counts records that the daemon refused. */
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
 * Wraps the host's callback so that it can do no harm: what it throws or rejects with is swallowed, and what is
 * dropped by the callback itself is counted but not told, or it would call itself for ever.
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
      // The host's own fault, in which we take no part.
    } finally {
      isTelling = false;
    }
  };
}
