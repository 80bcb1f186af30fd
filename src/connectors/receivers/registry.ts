/** The config section `notify`, and the receivers that it describes. To add a product, add one line to each list. */
import { z } from 'zod';
import { createEmail, emailSchema } from './email.ts';
import { pagerdutyBody, pagerdutySchema } from './pagerduty.ts';
import { createPostReceiver } from './post.ts';
import type { Receiver } from './receiver.ts';
import { slackBody, slackSchema } from './slack.ts';
import { teamsBody, teamsSchema } from './teams.ts';
import { webhookBody, webhookSchema } from './webhook.ts';

export const notifySchema = z
  .array(z.discriminatedUnion('kind', [webhookSchema, slackSchema, teamsSchema, pagerdutySchema, emailSchema]))
  .default([])
  .describe('Services that recalld notifies directly, without Alertmanager, when an incident opens or closes.');

export type NotifyConfig = z.infer<typeof notifySchema>[number];

const builders: {
  readonly [K in NotifyConfig['kind']]: (config: Extract<NotifyConfig, { kind: K }>, field: string) => Receiver;
} = {
  webhook: (config, field) =>
    createPostReceiver(config, field, { name: 'the webhook', headers: config.headers, bodyOf: webhookBody }),
  slack: (config, field) => createPostReceiver(config, field, { name: 'Slack', bodyOf: slackBody }),
  teams: (config, field) => createPostReceiver(config, field, { name: 'Microsoft Teams', bodyOf: teamsBody }),
  pagerduty: (config, field) =>
    createPostReceiver(config, field, {
      name: 'PagerDuty',
      takesUpdates: true,
      key: config.routing_key,
      bodyOf: (message) => pagerdutyBody(message, config.routing_key ?? null),
    }),
  email: createEmail,
};

export function createReceivers(configs: readonly NotifyConfig[]): Receiver[] {
  return configs.map((config, index) => {
    const build = builders[config.kind] as (config: NotifyConfig, field: string) => Receiver;
    return build(config, `notify[${index}]`);
  });
}
