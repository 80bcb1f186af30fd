/**
 * Divides a retriever's concurrency limit among the processes that call the retriever, and reduces the limit when the
 * retriever slows down.
 */

/** Number of latencies that are evaluated together. */
export const WINDOW = 20;
const SLOWEST = 1 / 4;
const STEP_UP = 1 / 8;
/**
 * A 95th percentile latency that exceeds the usual value by at most this many milliseconds counts as noise, regardless
 * of the ratio.
 */
const NOISE_MS = 20;

export interface Backoff {
  /** Share of the configured rate and concurrency to use, from 0.25 to 1. */
  readonly factor: number;
  /** Usual 95th percentile latency in milliseconds; null until it is known. */
  readonly reference: number | null;
  /** Latencies since the last evaluation, in milliseconds. */
  readonly recent: readonly number[];
}

/** @param reference 95th percentile latency in the last completed run; null to use the first responses of this run */
export function startBackoff(reference: number | null): Backoff {
  return { factor: 1, reference, recent: [] };
}

/**
 * Adds one latency. After every 20 responses, compares the 95th percentile of their latencies with the usual value. If
 * the percentile exceeds twice the usual value, the factor is halved, to at least 0.25. If the percentile is at most
 * one and a half times the usual value, the factor rises by an eighth, to at most 1 (additive increase, multiplicative
 * decrease: Chiu and Jain 1989). In between, the factor does not change, which avoids oscillation.
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

/** Computes the 95th percentile by the nearest-rank method. */
function percentile95(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0;
}

/** Input for dividing the concurrency limit among the processes that call a retriever. */
export interface ShareClaim {
  /** Maximum number of queries in flight to the retriever, over all processes. */
  readonly concurrency: number;
  /**
   * Concurrency that this process may use until it next renews its registration: the larger of its last share and its
   * number of queries in flight.
   */
  readonly using: number;
  /** The value of `using` for each other process. */
  readonly others: readonly number[];
  /** Zero-based position of this process among all processes. */
  readonly rank: number;
}

/**
 * Divides the concurrency equally. If the division leaves a remainder, each of the first processes gets one more slot.
 * No share exceeds the concurrency that the other processes leave unused. While a process still uses more than its new
 * share, its actual use is counted, so that the total never exceeds the concurrency limit.
 */
export function shareOf({ concurrency, using, others, rank }: ShareClaim) {
  const askers = others.length + 1;
  const remainder = rank < concurrency % askers ? 1 : 0;
  const fair = Math.max(1, Math.floor(concurrency / askers) + remainder);
  const free = Math.max(0, concurrency - others.reduce((sum, slots) => sum + slots, 0));
  const slots = Math.min(fair, free);
  return {
    /** Maximum number of queries in flight for this process from now on; 0 if it must wait. */
    slots,
    /** Concurrency that other processes must leave to this process until it next renews its registration. */
    counted: Math.max(slots, using),
  };
}
