/** Webhook: sends JSON messages to the user's own service. */
import { z } from 'zod';
import type { Message } from '../../core/notification.ts';
import { headersSchema } from '../../platform/config/connection.ts';
import { commonKeys, urlSchema } from './receiver.ts';

export const webhookSchema = z
  .strictObject({
    kind: z.literal('webhook').describe('Your own service, which receives JSON.'),
    url: urlSchema.describe('URL of the webhook.').meta({ secret: 'all' }),
    headers: headersSchema,
    ...commonKeys,
  })
  .describe('A webhook.');

export function webhookBody(message: Message): object {
  const { event, key, pipeline, severity, openedAt, closedAt, summary, lines, diagnosis } = message;
  const { link, runbook, chartLink } = message;
  return {
    version: 1,
    event: `incident.${event}`,
    id: message.id,
    incident: {
      key,
      pipeline,
      severity,
      opened_at: openedAt.toISOString(),
      closed_at: closedAt?.toISOString() ?? null,
      closed_because: message.closedBecause,
    },
    summary,
    description: lines.join('\n'),
    diagnosis,
    ...(link === null ? {} : { console_url: link }),
    ...(runbook === null ? {} : { runbook_url: runbook }),
    ...(chartLink === null ? {} : { chart_url: chartLink }),
  };
}
