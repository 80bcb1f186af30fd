/** How long to wait before a request is repeated. */

/** The longest wait, whether we chose it or the daemon asked for it. */
export const MAX_RETRY_DELAY_MS = 60_000;

const BASE_DELAY_MS = 500;

/**
 * Exponential back-off with full jitter: uniform in [0, min(60 s, 0.5 s x 2^(attempt - 1))], on top of what the daemon
 * asks for in Retry-After, and 60 s at the most. The jitter stays with Retry-After, or all hosts that were turned
 * away together would come back together.
 *
 * @param attempt number of attempts made so far, from 1
 * @param random uniform in [0, 1)
 * @param now milliseconds since the epoch, for a Retry-After that is a date
 * Source: RFC 9110, section 10.2.3 for Retry-After.
 */
export function retryDelayMs(
  attempt: number,
  retryAfter: string | null,
  random: number,
  now: number,
): number {
  const jitterMs = random * Math.min(MAX_RETRY_DELAY_MS, BASE_DELAY_MS * 2 ** (attempt - 1));
  return Math.min(MAX_RETRY_DELAY_MS, retryAfterMs(retryAfter, now) + jitterMs);
}

/** Seconds or an HTTP date as milliseconds from `now`; 0 when there is none, or none that can be read. */
export function retryAfterMs(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0;
  const text = retryAfter.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}
