/** Sends a request with retries. */
import { setMaxListeners } from 'node:events';
import { systemClock } from '../../core/system-clock.ts';
import type { Exchange, ExchangeRequest, ExchangeResult } from './exchange.ts';

/** Maximum wait before a retry, whether from back-off or from Retry-After. */
export const MAX_RETRY_DELAY_MS = 30_000;

/**
 * Returns the wait before a retry: exponential back-off with full jitter, uniform in [0, min(30 s, base x 2^(attempt -
 * 1))], so that calls that failed together do not retry together. With Retry-After, the jitter is added to the
 * requested wait, up to 30 s in total. Returns null if the service requests a longer wait, because a retry within 30 s
 * would be too early. Source: RFC 9110, section 10.2.3, for Retry-After.
 *
 * @param attempt number of attempts made so far, from 1
 * @param random uniform in [0, 1)
 * @param now milliseconds since the epoch, for a Retry-After that is a date
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

/** Converts seconds or an HTTP date into milliseconds from `now`; 0 for a missing or invalid value. */
function parseRetryAfterMs(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0;
  const text = retryAfter.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

/** Maximum wait before the first retry; the maximum doubles with each retry. */
const BACKOFF_MS = 200;

const MAX_WAIT = `${MAX_RETRY_DELAY_MS / 1000} s`;

/**
 * Sends a request. Retries failed connections, and responses with 429 or 5xx, after a back-off that has full jitter and
 * honors Retry-After. Does not retry timeouts, so that a hanging service costs only one timeout, or failures that a
 * retry would not change. Rejects with `signal.reason` as soon as the signal aborts.
 *
 * @returns the result with the latency of the last attempt
 */
export async function sendWithRetries(
  exchange: Exchange,
  request: ExchangeRequest,
  retries: number,
  signal: AbortSignal,
) {
  // Removes the limit on listeners, because many requests share one signal. When a request ends, its listener is
  // removed.
  setMaxListeners(0, signal);
  for (let attempts = 1; ; attempts += 1) {
    const startedMs = performance.now();
    const result = await exchange.send(request, signal);
    const latencyMs = performance.now() - startedMs;
    if (result.kind !== 'failure' || !result.isRetryable || attempts > retries) {
      return { result, latencyMs, attempts };
    }
    const waitMs = retryDelayMs(attempts, BACKOFF_MS, result.retryAfter, Math.random(), Date.now());
    if (waitMs === null) {
      const message = `${result.message} The response's Retry-After is above ${MAX_WAIT}, so recalld does not retry.`;
      const refused: ExchangeResult = { ...result, message };
      return { result: refused, latencyMs, attempts };
    }
    await systemClock.sleep(waitMs, signal);
  }
}
