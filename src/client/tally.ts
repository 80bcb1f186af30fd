/** The counters of one kind of record, and who is told when something is not delivered. */
import type { DeliveryStats, Drop, DropReason } from './types.ts';

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
