/** How long to wait before the next attempt. */

/** The longest wait before a retry, whether we chose it or the service asked for it. */
export const MAX_RETRY_DELAY_MS = 30_000;

/**
 * Exponential back-off with full jitter: uniform in [0, min(30 s, base x 2^(attempt - 1))], so that many calls that
 * failed together do not come back together. With Retry-After the service's wait comes first and the jitter on top
 * of it, up to 30 s; null when the service asks for more than that, because then no retry can do what it asks.
 *
 * @param attempt number of attempts made so far, from 1
 * @param random uniform in [0, 1)
 * @param now milliseconds since the epoch, for a Retry-After that is a date
 * Source: RFC 9110, section 10.2.3 for Retry-After.
 */
export function retryDelayMs(
  attempt: number,
  backoffMs: number,
  retryAfter: string | null,
  random: number,
  now: number,
): number | null {
  const jitterMs = random * Math.min(MAX_RETRY_DELAY_MS, backoffMs * 2 ** (attempt - 1));
  const askedMs = parseRetryAfterMs(retryAfter, now);
  if (askedMs > MAX_RETRY_DELAY_MS) return null;
  return Math.min(MAX_RETRY_DELAY_MS, askedMs + jitterMs);
}

/** Seconds or an HTTP date as milliseconds from `now`; 0 when there is none, or none that can be read. */
function parseRetryAfterMs(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0;
  const text = retryAfter.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}
