/** Receivers that accept each message as one JSON POST request. */
import type { Message } from '../../core/notification.ts';
import { parseBoundedJson } from '../../core/text/json.ts';
import { createExchange, type ExchangeResult, proxyFor } from '../../platform/outbound/exchange.ts';
import { type CommonConfig, type Receiver, receiverId } from './receiver.ts';

/** Properties in which the products differ. */
interface Product {
  /** Name of the product, such as `Slack`. Error messages add the host of the URL: `Slack (hooks.slack.com)`. */
  readonly name: string;
  /** True if a sent message can be corrected without alerting people again; false by default. */
  readonly takesUpdates?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Distinguishes the receiver from other receivers with the same URL. */
  readonly key?: string | undefined;
  readonly bodyOf: (message: Message) => object;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;

export function createPostReceiver(
  { kind, url: address, proxy, min_severity: minSeverity }: CommonConfig,
  field: string,
  { name, takesUpdates = false, headers = {}, key = '', bodyOf }: Product,
): Receiver {
  const url = new URL(address);
  // Messages show only the host, because the path of a webhook URL is often a secret.
  const label = `${name} (${url.host})`;
  const exchange = createExchange(
    {
      label,
      isSecure: url.protocol === 'https:',
      configField: field,
      suspects: { 401: 'url', 403: 'url', 404: 'url', 405: 'url', 407: 'proxy', 410: 'url' },
      describeRedirect: () => 'another address',
    },
    { maxResponseBytes: MAX_ANSWER_BYTES, proxy: proxyFor(proxy, url.origin) },
  );
  return {
    id: receiverId(kind, address, key),
    kind,
    field,
    minSeverity,
    takesUpdates,
    attachesChart: false,
    close: () => exchange.close(),
    async send(message, signal) {
      const request = {
        url: address,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'recalld', ...headers },
        body: JSON.stringify(bodyOf(message)),
        timeoutMs: TIMEOUT_MS,
      };
      return problemIn(await exchange.send(request, signal), label);
    },
  };
}

function problemIn(result: ExchangeResult, label: string): string | null {
  switch (result.kind) {
    case 'body':
      return refusalIn(result.text, label);
    case 'timeout':
      return `${label} did not respond within ${TIMEOUT_MS / 1000} s.`;
    case 'failure':
      return result.message;
  }
}

/**
 * Slack and compatible services may respond with status 200 and `{"ok": false, "error": ...}` without delivering the
 * message.
 */
function refusalIn(body: string, label: string): string | null {
  let answer: unknown;
  try {
    answer = parseBoundedJson(body);
  } catch {
    return null;
  }
  if (typeof answer !== 'object' || answer === null || !('ok' in answer) || answer.ok !== false) return null;
  const code = 'error' in answer && typeof answer.error === 'string' ? answer.error : '';
  return `${label} did not deliver the message${/^[\w.-]{1,80}$/.test(code) ? ` (${code})` : ''}.`;
}
