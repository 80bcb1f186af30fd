/** Sends a request until it is answered, refused for good, or out of attempts. */
import { setMaxListeners } from 'node:events';
import type { Exchange, ExchangeRequest, ExchangeResult } from './exchange.ts';
import { MAX_RETRY_DELAY_MS, retryDelayMs } from './retry-delay.ts';
import { wait } from './wait.ts';

export interface RetrySettings {
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

const LONGEST_WAIT = `${MAX_RETRY_DELAY_MS / 1000} s`;

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
      const message = `${result.message} It asks for a longer wait than the ${LONGEST_WAIT} of a retry.`;
      return { result: { ...result, message }, latencyMs, attempts };
    }
    await wait(waitMs, signal);
  }
}
