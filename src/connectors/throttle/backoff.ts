/** The queries that a retriever may have in flight: divided among those who ask it, and fewer when it slows down. */

/** Number of latencies that are judged together. */
export const WINDOW = 20;
const SLOWEST = 1 / 4;
const STEP_UP = 1 / 8;
/** A 95th percentile that is at most this far above the reference is noise, whatever the ratio. */
const NOISE_MS = 20;

export interface Backoff {
  /** Share of the configured pace and concurrency that is used, 0.25..1. */
  readonly factor: number;
  /** 95th percentile that counts as usual, in milliseconds; null until it is known. */
  readonly reference: number | null;
  /** Latencies since the last judgement. */
  readonly recent: readonly number[];
}

/** @param reference 95th percentile of the last completed run; null takes that of the first answers of this one */
export function startBackoff(reference: number | null): Backoff {
  return { factor: 1, reference, recent: [] };
}

/**
 * Takes one latency in. Every 20 answers are judged: when their 95th percentile is above twice the reference the factor
 * is halved, down to a quarter; at or below one and a half times the reference it rises by an eighth, up to 1 (additive
 * increase, multiplicative decrease: Chiu and Jain 1989). Between the two it stays, so that it does not swing.
 */
export function observeLatency({ factor, reference, recent }: Backoff, latencyMs: number): Backoff {
  const seen = [...recent, latencyMs];
  if (seen.length < WINDOW) return { factor, reference, recent: seen };
  const p95 = percentile95(seen);
  if (reference === null) return { factor, reference: p95, recent: [] };
  if (p95 > Math.max(2 * reference, reference + NOISE_MS))
    return { factor: Math.max(SLOWEST, factor / 2), reference, recent: [] };
  const isUsual = p95 <= Math.max(1.5 * reference, reference + NOISE_MS);
  return { factor: isUsual ? Math.min(1, factor + STEP_UP) : factor, reference, recent: [] };
}

/** Nearest rank. */
function percentile95(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0;
}

/** How the queries that a retriever may have in flight are divided among those who ask it. */
interface ShareClaim {
  /** Most queries in flight to the retriever. */
  readonly concurrency: number;
  /** What the asker may use until it hears otherwise: the larger of its last share and what it has in flight. */
  readonly using: number;
  /** What the others may use, by the same rule. */
  readonly others: readonly number[];
  /** Place of the asker among all, from 0. */
  readonly rank: number;
}

/**
 * Divides the concurrency equally, the remainder going to the first ones; a share is never more than the others leave
 * free. An asker that has more than its share is counted with all it has until it has come down, so that the shares in
 * use never add up to more than the concurrency.
 */
export function shareOf({ concurrency, using, others, rank }: ShareClaim) {
  const askers = others.length + 1;
  const remainder = rank < concurrency % askers ? 1 : 0;
  const fair = Math.max(1, Math.floor(concurrency / askers) + remainder);
  const free = Math.max(0, concurrency - others.reduce((sum, slots) => sum + slots, 0));
  const slots = Math.min(fair, free);
  return {
    /** Most that the asker may have in flight from now on; 0 when it must wait. */
    slots,
    /** What it is to be counted with until it asks again. */
    counted: Math.max(slots, using),
  };
}
