/** The retriever of a RAG service that answers over HTTP with JSON. */
import { RecalldError } from '../errors.ts';
import { createExchange, type TlsMaterial } from '../outbound/exchange.ts';
import { sendWithRetries } from '../outbound/send.ts';
import { compileAddress } from './address.ts';
import { compileHeaders } from './headers.ts';
import { compileResults, type ResultExpressions } from './results.ts';
import type { Retriever } from './retriever.ts';
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
  readonly tls?: TlsMaterial;
  /** Where the config describes it. */
  readonly configField?: string;
}

const DEFAULT_BACKOFF_MS = 200;
const DEFAULT_MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

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
  const { method, retries, backoffMs = DEFAULT_BACKOFF_MS, configField: field = 'retriever' } = settings;
  if (method === 'GET' && settings.body !== null) {
    throw new RecalldError(
      'config_invalid',
      `${field}.body: a GET request has no body; put the placeholders in ${field}.url or use method POST.`,
    );
  }
  const address = compileAddress(settings.url, field);
  const renderHeaders = compileHeaders(settings.headers, settings.body !== null, field);
  const renderBody = settings.body === null ? null : compileValue(settings.body, `${field}.body`);
  const readResults = compileResults(settings.results, field);
  const exchange = createExchange(address, {
    maxResponseBytes: settings.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
    ...(settings.tls === undefined ? {} : { tls: settings.tls }),
  });

  return {
    async retrieve(request, signal) {
      const url = address.render(request);
      if (url === null) {
        const message = `${address.label} would become another path: a value in it is "." or "..".`;
        return { kind: 'error', code: 'path_changed', message, latencyMs: 0, attempts: 0 };
      }
      const body = renderBody === null ? null : JSON.stringify(renderBody(request));
      const headers = renderHeaders(request);

      const sent = await sendWithRetries(
        exchange,
        { url, method, headers, body, timeoutMs: settings.timeoutMs },
        { retries, backoffMs },
        signal,
      );
      const { result, latencyMs, attempts } = sent;
      if (result.kind === 'timeout') return { kind: 'timeout', latencyMs, attempts };
      if (result.kind === 'failure') {
        return { kind: 'error', code: result.code, message: result.message, latencyMs, attempts };
      }
      const { text: queryText, withText = false } = request;
      const reading = readResults({ ...result, label: address.label, queryText, withText });
      return { ...reading, latencyMs, attempts };
    },
    close: async () => exchange.close(),
  };
}
