/** The retriever of a RAG service that answers over HTTP with JSON. */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { RecalldError } from '../../core/errors.ts';
import type { Retriever } from '../../ports/retriever.ts';
import { compileAddress } from './address.ts';
import { createExchange } from './exchange.ts';
import { compileHeaders } from './headers.ts';
import { compileResults, type ResultExpressions } from './results.ts';
import { MAX_RETRY_DELAY_MS, retryDelayMs } from './retry-delay.ts';
import { compileValue, type JsonValue } from './template.ts';

/** `pipelines[].retriever` of kind `http`. Strings of `url`, `headers` and `body` may hold placeholders. */
export interface HttpRetrieverSettings {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers: Readonly<Record<string, string>>;
  /** null sends no body. */
  readonly body: JsonValue | null;
  readonly results: ResultExpressions;
  /** For one attempt, from the lookup of the host to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Attempts after the first one. */
  readonly retries: number;
  /** Longest wait before the first retry; it doubles with each one. */
  readonly backoffMs?: number;
  readonly maxResponseBytes?: number;
}

const DEFAULT_BACKOFF_MS = 200;
const DEFAULT_MAX_RESPONSE_BYTES = 8 * 1024 * 1024;
const LONGEST_WAIT = `${MAX_RETRY_DELAY_MS / 1000} s`;

/**
 * Creates a retriever that sends one request per query.
 *
 * A connection that fails, 429 and every 5xx are tried again after a back-off with full jitter that honours
 * Retry-After; a timeout is not, so that a service that hangs costs one `timeoutMs` per query, and neither is an
 * answer that would be the same again. The codes of errors are `http_<status>`, `http_redirect`,
 * `connection_refused`, `connection_reset`, `connection_failed`, `host_unreachable`, `dns_not_found`, `dns_failed`,
 * `tls_error`, `not_http`, `bad_encoding`, `too_large`, `not_json`, `no_result_list`, `missing_id`
 * and `path_changed`. Messages name the host and the path, never a header, a parameter or the text of a query.
 *
 * @throws RecalldError `config_invalid`, with the name of the field, when a query could never be sent.
 */
export function createHttpRetriever(settings: HttpRetrieverSettings): Retriever {
  const { method, retries, backoffMs = DEFAULT_BACKOFF_MS } = settings;
  if (method === 'GET' && settings.body !== null) {
    throw new RecalldError(
      'config_invalid',
      'retriever.body: a GET request has no body; put the placeholders in retriever.url or use method POST.',
    );
  }
  const address = compileAddress(settings.url);
  const renderHeaders = compileHeaders(settings.headers, settings.body !== null);
  const renderBody = settings.body === null ? null : compileValue(settings.body, 'retriever.body');
  const readResults = compileResults(settings.results);
  const exchange = createExchange(address, {
    timeoutMs: settings.timeoutMs,
    maxResponseBytes: settings.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
  });

  return {
    async retrieve(request, signal) {
      // One signal serves every query of a run at once; each listener is removed when its query ends.
      setMaxListeners(0, signal);
      const url = address.render(request);
      if (url === null) {
        const message = `${address.label} would become another path: a value in it is "." or "..".`;
        return { kind: 'error', code: 'path_changed', message, latencyMs: 0, attempts: 0 };
      }
      const body = renderBody === null ? null : JSON.stringify(renderBody(request));
      const headers = renderHeaders(request);

      for (let attempts = 1; ; attempts += 1) {
        const startedMs = performance.now();
        const result = await exchange({ url, method, headers, body }, signal);
        const latencyMs = performance.now() - startedMs;
        if (result.kind === 'timeout') return { kind: 'timeout', latencyMs, attempts };
        if (result.kind === 'body') {
          const reading = readResults({ ...result, label: address.label, queryText: request.text });
          return { ...reading, latencyMs, attempts };
        }

        const { code, message, isRetryable, retryAfter } = result;
        const error = { kind: 'error', code, message, latencyMs, attempts } as const;
        if (!isRetryable || attempts > retries) return error;
        const waitMs = retryDelayMs(attempts, backoffMs, retryAfter, Math.random(), Date.now());
        if (waitMs === null) {
          return {
            ...error,
            message: `${message} It asks for a longer wait than the ${LONGEST_WAIT} of a retry.`,
          };
        }
        await wait(waitMs, signal);
      }
    },
  };
}

/** Waits, or rejects with the reason of `signal` at once when it aborts. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
