/** Microsoft Teams, through a webhook of the Workflows app. */
import { z } from 'zod';
import type { Message } from '../../core/notification.ts';
import { clipped, commonKeys, linksOf, titleOf, urlSchema } from './receiver.ts';

export const teamsSchema = z
  .strictObject({
    kind: z.literal('teams').describe('Microsoft Teams.'),
    url: urlSchema.describe('URL of a workflow that posts each webhook request to a channel.').meta({ secret: 'all' }),
    ...commonKeys,
  })
  .describe('A Microsoft Teams channel.');

/**
 * Maximum lengths of a text and of the title. With these limits, a message is smaller than 28 kB in every writing
 * system; Teams rejects larger messages.
 */
const MAX_TEXT = 3000;
const MAX_TITLE = 300;

function paragraph(text: string, style: object = {}): object {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: clipped(text, MAX_TEXT), ...style }] };
}

/**
 * Returns an Adaptive Card, version 1.4. A `TextRun` shows its text unchanged, so that a `_` or `*` in a name is not
 * interpreted as formatting.
 */
export function teamsBody(message: Message): object {
  const { event, severity, lines, diagnosis } = message;
  const title = clipped(titleOf(message), MAX_TITLE);
  const color = event === 'closed' ? 'Good' : severity === 'critical' ? 'Attention' : 'Warning';
  const texts = [lines.join('\n'), diagnosis].filter((text) => text !== '');
  return {
    type: 'message',
    summary: title,
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          fallbackText: title,
          msteams: { width: 'Full' },
          body: [paragraph(title, { size: 'Large', weight: 'Bolder', color }), ...texts.map((text) => paragraph(text))],
          actions: linksOf(message).map(({ text, url }) => ({ type: 'Action.OpenUrl', title: text, url })),
        },
      },
    ],
  };
}
