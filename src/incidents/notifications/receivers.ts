/** The section `notify` of the config: who is told of incidents by recalld itself, and how a message reaches them. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { severities } from '../../core/model.ts';
import { parseBoundedJson } from '../../core/text/json.ts';
import { proxySchema } from '../../platform/config/connection.ts';
import { createExchange, type ExchangeResult, proxyFor } from '../../platform/outbound/exchange.ts';
import { type Message, pagerdutyBody, type ReceiverNeeds, slackBody, webhookBody } from './rules/message.ts';

const url = z
  .string()
  .regex(/^https?:\/\/\S+$/, { error: 'must be an http:// or https:// URL', abort: true })
  .refine((text) => URL.canParse(text), { error: 'is not a URL that can be read; check its host and port' });

const minSeverity = z
  .enum(severities)
  .default('critical')
  .describe('Incidents that come to less are not told: critical, or warning for both.');

const webhookSchema = z
  .strictObject({
    kind: z.literal('webhook').describe('A service of your own, which is told in JSON.'),
    url: url.describe('Where messages are posted.').meta({ secret: 'all' }),
    headers: z
      .record(z.string(), z.string().meta({ secret: 'all' }))
      .default({})
      .describe('Request headers; keep tokens in the environment as ${VAR}.'),
    proxy: proxySchema,
    min_severity: minSeverity,
  })
  .describe('A webhook.');

const slackSchema = z
  .strictObject({
    kind: z.literal('slack').describe('An incoming webhook of Slack, or of what speaks like it.'),
    url: url.describe('URL of the incoming webhook.').meta({ secret: 'all' }),
    proxy: proxySchema,
    min_severity: minSeverity,
  })
  .describe('A channel of Slack.');

const pagerdutySchema = z
  .strictObject({
    kind: z.literal('pagerduty').describe('The Events API v2 of PagerDuty.'),
    url: url
      .default('https://events.pagerduty.com/v2/enqueue')
      .describe('Where events are posted.')
      .meta({ secret: 'url' }),
    routing_key: z
      .string()
      .min(1)
      .optional()
      .describe('Integration key of the service; keep it in the environment as ${VAR}. PagerDuty itself needs it.')
      .meta({ secret: 'all' }),
    proxy: proxySchema,
    min_severity: minSeverity,
  })
  .describe('A service of PagerDuty.');

export const notifySchema = z
  .array(z.discriminatedUnion('kind', [webhookSchema, slackSchema, pagerdutySchema]))
  .default([])
  .describe('Who is told when an incident opens and when it closes, without an Alertmanager.');

export type NotifyConfig = z.infer<typeof notifySchema>[number];

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
      return refusalIn(result.text, label);
    case 'timeout':
      return `${label} did not answer within ${TIMEOUT_MS / 1000} s.`;
    case 'failure':
      return result.message;
  }
}

/** Slack and what speaks like it may answer 200 with `{"ok": false, "error": ...}`, and have delivered nothing. */
function refusalIn(body: string, label: string): string | null {
  let answer: unknown;
  try {
    answer = parseBoundedJson(body);
  } catch {
    return null;
  }
  if (typeof answer !== 'object' || answer === null || !('ok' in answer) || answer.ok !== false) return null;
  const code = 'error' in answer && typeof answer.error === 'string' ? answer.error : '';
  return `${label} did not deliver it${/^[\w.-]{1,80}$/.test(code) ? ` (${code})` : ''}.`;
}

function idOf(config: NotifyConfig): string {
  const key = config.kind === 'pagerduty' ? (config.routing_key ?? '') : '';
  return createHash('sha256')
    .update(JSON.stringify([config.kind, config.url, key]))
    .digest('hex')
    .slice(0, 16);
}
