/**
 * The section `notify` of the config, and the receivers that it describes. To add a product, add one line to each list.
 */
import { z } from 'zod';
import { createEmail, emailSchema } from './email.ts';
import { createPagerduty, pagerdutySchema } from './pagerduty.ts';
import type { Receiver } from './receiver.ts';
import { createSlack, slackSchema } from './slack.ts';
import { createTeams, teamsSchema } from './teams.ts';
import { createWebhook, webhookSchema } from './webhook.ts';

export const notifySchema = z
  .array(z.discriminatedUnion('kind', [webhookSchema, slackSchema, teamsSchema, pagerdutySchema, emailSchema]))
  .default([])
  .describe('Services that recalld notifies directly, without Alertmanager, when an incident opens or closes.');

export type NotifyConfig = z.infer<typeof notifySchema>[number];

const builders: {
  readonly [K in NotifyConfig['kind']]: (config: Extract<NotifyConfig, { kind: K }>, field: string) => Receiver;
} = {
  webhook: createWebhook,
  slack: createSlack,
  teams: createTeams,
  pagerduty: createPagerduty,
  email: createEmail,
};

export function createReceivers(configs: readonly NotifyConfig[]): Receiver[] {
  return configs.map((config, index) => {
    const build = builders[config.kind] as (config: NotifyConfig, field: string) => Receiver;
    return build(config, `notify[${index}]`);
  });
}
