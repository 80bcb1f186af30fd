/** Retriever for a RAG service with a JSON API over HTTP. */
import { RecalldError } from '../../core/errors.ts';
import { createExchange, proxyFor } from '../../platform/outbound/exchange.ts';
import { checkHeaderName, checkHeaderValue, readTls } from '../../platform/outbound/json-api.ts';
import { sendWithRetries } from '../../platform/outbound/send.ts';
import type { RetrieverConfigOf } from './config.ts';
import { compileResults } from './results.ts';
import type { Retriever, RetrieverRequest } from './retriever.ts';
import { compileValue, parseTemplate, refuseWithoutText, renderText } from './template.ts';

/** Headers that the HTTP client itself sets. A configured value would break the request or the connection. */
const reservedNames = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Compiles `retriever.headers`. In values, percent-encodes `%`, leading and trailing spaces, and characters that are
 * not printable ASCII, so that every text becomes a valid value and no text can add a header. If a header consists of a
 * single `{{tags.NAME}}` placeholder and the query has no such tag, the header is omitted. `accept` defaults to
 * `application/json`; `content-type` has the same default if the request has a body. Header names are converted to
 * lower case.
 *
 * @throws RecalldError `config_invalid` for a name or value that HTTP does not allow. The message never contains the
 * value.
 */
export function compileHeaders(headers: Readonly<Record<string, string>>, hasBody: boolean, configField = 'retriever') {
  const fields = Object.entries(headers).map(([name, value]) => {
    const field = `${configField}.headers.${name}`;
    checkHeaderName(name, field);
    if (reservedNames.has(name.toLowerCase())) {
      throw new RecalldError('config_invalid', `${field}: HTTP sets this header from the request; remove it.`);
    }
    const parts = parseTemplate(value.trim(), field);
    for (const part of parts) if (typeof part === 'string') checkHeaderValue(part, field);
    return { name: name.toLowerCase(), parts };
  });

  return (request: RetrieverRequest) => {
    const rendered: Record<string, string> = { accept: 'application/json', 'user-agent': 'recalld' };
    if (hasBody) rendered['content-type'] = 'application/json';
    for (const { name, parts } of fields) {
      const [only] = parts;
      if (parts.length === 1 && typeof only === 'function' && only(request) === null) continue;
      rendered[name] = renderText(parts, request, encodeFieldText);
    }
    return rendered;
  };
}

function encodeFieldText(value: string): string {
  return value.replace(/[^\x20-\x7e]+|%|^ +| +$/gu, (run) =>
    [...Buffer.from(run, 'utf8')].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

const defaultBody = { query: '{{text}}', k: '{{k}}' };

/**
 * Creates a retriever that sends one request per query. Strings in `url`, `headers` and `body` may contain
 * placeholders.
 *
 * Retries a request after a failed connection and after status 429 or 5xx. The back-off before a retry has full jitter
 * and respects Retry-After. Does not retry after a timeout, so a hung service delays each query by at most one
 * `timeout_ms`. Does not retry a request if a retry would return the same response. Error codes are `http_<status>`,
 * `http_redirect`, `connection_refused`, `connection_reset`, `connection_failed`, `host_unreachable`, `dns_not_found`,
 * `dns_failed`, `tls_error`, `not_http`, `bad_encoding`, `too_large`, `not_json`, `cut_off`, `no_result_list`,
 * `missing_id` and `path_changed`. Messages name the host and the path, never a header, a parameter or the query text.
 *
 * @throws RecalldError `config_invalid`, with the name of the field, if a query could never be sent.
 */
export function createHttpRetriever(
  config: RetrieverConfigOf<'http'>,
  repeatsAnswers: boolean,
  field: string,
): Retriever {
  const { method, timeout_ms: timeoutMs, retries } = config;
  if (method === 'GET' && config.body != null) {
    throw new RecalldError(
      'config_invalid',
      `${field}.body: a GET request has no body; put the placeholders in ${field}.url or use method POST.`,
    );
  }
  const body = config.body ?? (method === 'GET' ? null : defaultBody);
  const address = compileAddress(config.url, field);
  const renderHeaders = compileHeaders(config.headers, body !== null, field);
  const renderBody = body === null ? null : compileValue(body, `${field}.body`);
  const readResults = compileResults(config.results, field, repeatsAnswers);
  const tls = readTls(config.tls, `${field}.tls`);
  refuseWithoutText(
    [config.url, { ...config.headers }, body],
    method === 'GET' ? `${field}.url` : `${field}.body`,
    method === 'GET' ? `${config.url.split('?')[0]}?q={{text}}` : '{query: "{{text}}"}',
  );
  const exchange = createExchange(address, {
    maxResponseBytes: MAX_RESPONSE_BYTES,
    ...(tls === undefined ? {} : { tls }),
    proxy: proxyFor(config.proxy, address.label),
  });

  return {
    async retrieve(request, signal) {
      const url = address.render(request);
      if (url === null) {
        const message = `A value of "." or ".." in a placeholder would change the path of ${address.label}.`;
        return { kind: 'error', code: 'path_changed', message, latencyMs: 0, attempts: 0 };
      }
      const text = renderBody === null ? null : JSON.stringify(renderBody(request));
      const headers = renderHeaders(request);

      const sent = await sendWithRetries(exchange, { url, method, headers, body: text, timeoutMs }, retries, signal);
      const { result, latencyMs, attempts } = sent;
      if (result.kind === 'timeout') {
        const message = `${address.label} did not respond within ${timeoutMs} ms.`;
        return { kind: 'timeout', message, latencyMs, attempts };
      }
      if (result.kind === 'failure') {
        return { kind: 'error', code: result.code, message: result.message, latencyMs, attempts };
      }
      const { text: queryText, k, withText = false, withStages = false } = request;
      const reading = readResults({ ...result, label: address.label, queryText, k, withText, withStages });
      return { ...reading, latencyMs, attempts };
    },
    close: async () => exchange.close(),
  };
}

/**
 * Compiles `retriever.url`. Values are percent-encoded, so each stays within its path segment or parameter.
 *
 * @throws RecalldError `config_invalid` unless the URL is absolute, has the scheme http or https, and has no user name,
 * password or fragment; also if the host contains a placeholder, because a query must not choose which machine is
 * called.
 */
export function compileAddress(url: string, configField = 'retriever') {
  const parts = parseTemplate(url, `${configField}.url`);
  const sample = checkedUrl(parts.map((part) => (typeof part === 'string' ? part : 'x')).join(''), configField);
  const [head] = parts;
  const hasPlaceholder = parts.some((part) => typeof part === 'function');
  if (hasPlaceholder && !(typeof head === 'string' && /^\s*https?:\/\/[^/?\\]+[/?]/i.test(head))) {
    throw invalid(
      configField,
      'has a placeholder in the host; placeholders are allowed only in the path and after the "?"',
    );
  }
  const label = (url.split('?')[0] ?? '').trim();
  const depth = pathDepth(sample);

  return {
    label,
    isSecure: sample.protocol === 'https:',
    configField,
    suspects: {
      400: 'body',
      401: 'headers',
      403: 'headers',
      404: 'url',
      405: 'method',
      407: 'proxy',
      415: 'headers',
      422: 'body',
    },
    /** Returns the URL for one query, or null if a tag value such as `..` would change the configured path. */
    render(request: RetrieverRequest): string | null {
      const rendered = new URL(renderText(parts, request, encodeComponent));
      return pathDepth(rendered) === depth ? rendered.href : null;
    },
    // The message contains the path of the redirect target only if that path is the configured path. Any other path
    // could repeat the query.
    describeRedirect(location: string): string {
      if (!URL.canParse(location, sample.href)) return 'the final address';
      const target = new URL(location, sample.href);
      if (!label.includes('{{') && trimmedPath(target) === trimmedPath(sample)) {
        return `${target.origin}${target.pathname}`;
      }
      return `the final address (it leads to another path on ${target.origin})`;
    },
  };
}

function checkedUrl(text: string, configField: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalid(configField, 'is not an absolute URL; use a URL such as http://rag.internal/search');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalid(configField, `has the scheme ${url.protocol}; only http: and https: are supported`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(configField, `contains a user name or a password; move them to ${configField}.headers.authorization`);
  }
  if (url.href.includes('#')) {
    throw invalid(configField, 'has a "#", and the text after it is never sent; write %23 to send the character');
  }
  return url;
}

function invalid(configField: string, problem: string): RecalldError {
  return new RecalldError('config_invalid', `${configField}.url: the URL ${problem}.`);
}

/** An encoded value contains no slash, so the number of segments changes only if a `.` or `..` segment was resolved. */
function pathDepth(url: URL): number {
  return url.pathname.split('/').length;
}

function trimmedPath(url: URL): string {
  return url.pathname.replace(/\/+$/, '');
}

/** Percent-encodes UTF-8. A lone surrogate, on which encodeURIComponent throws, becomes U+FFFD. */
function encodeComponent(value: string): string {
  return encodeURIComponent(Buffer.from(value, 'utf8').toString('utf8'));
}
