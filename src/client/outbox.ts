/**
 * Queue of records that are waiting or being sent, limited by number and by bytes. If the queue is full, the oldest
 * waiting record is dropped. Counts the outcomes of each kind of record.
 */
import type { DeliveryStats, Drop, DropReason } from './types.ts';

interface Sized {
  readonly bytes: number;
}

interface OutboxLimits {
  readonly maxItems: number;
  readonly maxBytes: number;
}

export class Outbox<R extends Sized> {
  readonly #limits: OutboxLimits;
  /** The oldest waiting records, newest first, so that records are added and removed at the end in constant time. */
  #oldest: R[] = [];
  /** All other waiting records, oldest first. */
  #newest: R[] = [];
  waitingBytes = 0;
  #underWay = 0;
  #underWayBytes = 0;
  /** Number of records that have been pushed in total. */
  pushed = 0;

  constructor(limits: OutboxLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#oldest.length + this.#newest.length;
  }

  /** Number of records that are waiting or being sent. */
  get pending(): number {
    return this.waiting + this.#underWay;
  }

  get pendingBytes(): number {
    return this.waitingBytes + this.#underWayBytes;
  }

  /**
   * Number of completed records, which are no longer waiting or being sent. Records complete in the order in which they
   * were pushed.
   */
  get done(): number {
    return this.pushed - this.pending;
  }

  /**
   * Adds a record, and drops the oldest waiting records if there is no room. If the records that are being sent leave
   * too little room, drops only the new record. Returns the number of dropped records.
   */
  push(record: R): number {
    this.pushed += 1;
    const { maxItems, maxBytes } = this.#limits;
    if (this.#underWay >= maxItems || this.#underWayBytes + record.bytes > maxBytes) return 1;
    let dropped = 0;
    while (this.pending >= maxItems || this.pendingBytes + record.bytes > maxBytes) {
      this.waitingBytes -= this.#shift()?.bytes ?? 0;
      dropped += 1;
    }
    this.#newest.push(record);
    this.waitingBytes += record.bytes;
    return dropped;
  }

  #shift(): R | undefined {
    if (this.#oldest.length === 0) [this.#oldest, this.#newest] = [reversed(this.#newest), []];
    return this.#oldest.pop();
  }

  /**
   * Removes the oldest records and returns them for sending: at most `maxItems`, and at most `maxBytes` unless a single
   * record is larger.
   */
  take(maxItems: number, maxBytes: number): R[] {
    const taken: R[] = [];
    let bytes = 0;
    while (taken.length < maxItems) {
      const next = this.#shift();
      if (next === undefined) break;
      if (taken.length > 0 && bytes + next.bytes > maxBytes) {
        this.#oldest.push(next);
        break;
      }
      taken.push(next);
      bytes += next.bytes;
    }
    this.waitingBytes -= bytes;
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
    this.#oldest.push(...reversed(records));
    for (const record of records) this.waitingBytes += record.bytes;
  }

  /** Removes everything, including records that are being sent. Returns the number of removed records. */
  clear(): number {
    const count = this.pending;
    this.#oldest = [];
    this.#newest = [];
    this.waitingBytes = 0;
    this.#underWay = 0;
    this.#underWayBytes = 0;
    return count;
  }
}

/** Node.js 18 has no `toReversed`. */
function reversed<R>(records: readonly R[]): R[] {
  return records.map((_, index) => records[records.length - 1 - index] as R);
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
    const rejectedByCode = Object.fromEntries(this.#rejectedByCode);
    const { offered, sampledOut, sent, duplicates, requests, retries, lastError } = this;
    const counts = { offered, sampledOut, sent, duplicates, pending, pendingBytes, requests, retries };
    return { ...counts, lastError, dropped: { ...this.#dropped }, rejectedByCode };
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
