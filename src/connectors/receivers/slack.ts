/** Slack, and services with an incoming webhook of the same format. */
import { z } from 'zod';
import type { Message } from '../../core/notification.ts';
import { createPostReceiver } from './post.ts';
import { commonKeys, type Receiver, urlSchema } from './receiver.ts';

export const slackSchema = z
  .strictObject({
    kind: z.literal('slack').describe('An incoming webhook of Slack, or of a service with the same format.'),
    url: urlSchema.describe('URL of the incoming webhook.').meta({ secret: 'all' }),
    ...commonKeys,
  })
  .describe('A channel of Slack.');

export function createSlack(config: z.infer<typeof slackSchema>, field: string): Receiver {
  return createPostReceiver(config, field, {
    kind: config.kind,
    name: 'Slack',
    takesUpdates: false,
    bodyOf: slackBody,
  });
}

export function slackBody(message: Message): object {
  const { event, severity, summary, lines, diagnosis, link, runbook } = message;
  const end = message.closedBecause === 'left_config' ? 'Closed' : 'Resolved';
  const start = severity === 'critical' ? 'Critical' : 'Warning';
  const head = event === 'closed' ? end : event === 'updated' ? `${start}, cause found` : start;
  const escaped = [
    `*${head}: ${escape(summary)}*`,
    ...[...lines, diagnosis].map(escape),
    ...(link === null ? [] : [`<${escape(link)}|The incident> <${escape(runbook ?? link)}|The runbook>`]),
  ];
  return { text: escaped.join('\n') };
}

/** Escapes the three characters that `mrkdwn` of Slack requires. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
