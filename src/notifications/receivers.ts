/** Who is told of incidents, and how a message reaches them. */
import { createHash } from 'node:crypto';
import { createExchange, type ExchangeResult } from '../outbound/exchange.ts';
import { proxyFor } from '../outbound/proxy.ts';
import type { NotifyConfig } from './config.ts';
import type { ReceiverNeeds } from './rules/due.ts';
import { type Message, pagerdutyBody, slackBody, webhookBody } from './rules/message.ts';

export interface Receiver extends ReceiverNeeds {
  /** Stands for where its messages go; the same as long as that is. */
  readonly id: string;
  readonly kind: NotifyConfig['kind'];
  /** Where the config describes it: `notify[0]`. */
  readonly field: string;
  /** One attempt. @returns why it failed, in a sentence without a secret; null when it arrived */
  send(message: Message, signal: AbortSignal): Promise<string | null>;
  close(): void;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;

export function createReceivers(configs: readonly NotifyConfig[]): Receiver[] {
  return configs.map((config, index) => createReceiver(config, `notify[${index}]`));
}

function createReceiver(config: NotifyConfig, field: string): Receiver {
  const { kind, url: address, min_severity: minSeverity } = config;
  const url = new URL(address);
  // The path of such an address is often a secret.
  const label = kind === 'webhook' ? `the webhook ${url.host}` : `${names[kind]} (${url.host})`;
  const exchange = createExchange(
    {
      label,
      isSecure: url.protocol === 'https:',
      configField: field,
      suspects: { 401: 'url', 403: 'url', 404: 'url', 405: 'url', 407: 'proxy', 410: 'url' },
      describeRedirect: () => 'another address',
    },
    { maxResponseBytes: MAX_ANSWER_BYTES, proxy: proxyFor(config.proxy, url.origin) },
  );
  const headers = config.kind === 'webhook' ? config.headers : {};
  return {
    id: idOf(config),
    kind,
    field,
    minSeverity,
    takesUpdates: kind === 'pagerduty',
    close: () => exchange.close(),
    async send(message, signal) {
      const request = {
        url: address,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'recalld', ...headers },
        body: JSON.stringify(bodyOf(config, message)),
        timeoutMs: TIMEOUT_MS,
      };
      return problemOf(await exchange.send(request, signal), label);
    },
  };
}

const names = { slack: 'Slack', pagerduty: 'PagerDuty' } as const;

function bodyOf(config: NotifyConfig, message: Message): object {
  switch (config.kind) {
    case 'webhook':
      return webhookBody(message);
    case 'slack':
      return slackBody(message);
    case 'pagerduty':
      return pagerdutyBody(message, config.routing_key ?? null);
  }
}

function problemOf(result: ExchangeResult, label: string): string | null {
  switch (result.kind) {
    case 'body':
      return null;
    case 'timeout':
      return `${label} did not answer within ${TIMEOUT_MS / 1000} s.`;
    case 'failure':
      return result.message;
  }
}

function idOf(config: NotifyConfig): string {
  const key = config.kind === 'pagerduty' ? (config.routing_key ?? '') : '';
  return createHash('sha256')
    .update(JSON.stringify([config.kind, config.url, key]))
    .digest('hex')
    .slice(0, 16);
}
