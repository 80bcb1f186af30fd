/** The section `notify` of the config: who is told of incidents by recalld itself. */
import { z } from 'zod';
import { proxySchema } from '../config/connection.ts';
import { severities } from '../model.ts';

const url = z.string().regex(/^https?:\/\/\S+$/, { error: 'must be an http:// or https:// URL' });

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
