/** Sends a request until it is answered, refused for good, or out of attempts. */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Exchange, ExchangeRequest, ExchangeResult } from './exchange.ts';

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

interface RetrySettings {
  /** Attempts after the first one. */
  readonly retries: number;
  /** Longest wait before the first retry; it doubles with each one. */
  readonly backoffMs: number;
}

export interface Sent {
  readonly result: ExchangeResult;
  /** Of the last attempt. */
  readonly latencyMs: number;
  readonly attempts: number;
}

const MAX_WAIT = `${MAX_RETRY_DELAY_MS / 1000} s`;

/**
 * A connection that fails, 429 and every 5xx are tried again after a back-off with full jitter that honours
 * Retry-After; a timeout is not, so that a service that hangs costs one timeout, and neither is an answer that would
 * be the same again. Rejects with the reason of `signal` at once when it aborts.
 */
export async function sendWithRetries(
  exchange: Exchange,
  request: ExchangeRequest,
  { retries, backoffMs }: RetrySettings,
  signal: AbortSignal,
): Promise<Sent> {
  // One signal serves many requests at once; each listener is removed when its request ends.
  setMaxListeners(0, signal);
  for (let attempts = 1; ; attempts += 1) {
    const startedMs = performance.now();
    const result = await exchange.send(request, signal);
    const latencyMs = performance.now() - startedMs;
    if (result.kind !== 'failure' || !result.isRetryable || attempts > retries) {
      return { result, latencyMs, attempts };
    }
    const waitMs = retryDelayMs(attempts, backoffMs, result.retryAfter, Math.random(), Date.now());
    if (waitMs === null) {
      const message = `${result.message} It asks for a longer wait than the ${MAX_WAIT} of a retry.`;
      return { result: { ...result, message }, latencyMs, attempts };
    }
    await wait(waitMs, signal);
  }
}

/** Waits, or rejects with the reason of `signal` at once when it aborts. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
