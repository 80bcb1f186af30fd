/** Slack, and services whose incoming webhooks have the same format. */
import { z } from 'zod';
import type { Message } from '../../core/notification.ts';
import { clipped, commonKeys, linksOf, titleOf, urlSchema } from './receiver.ts';

export const slackSchema = z
  .strictObject({
    kind: z.literal('slack').describe('Slack, or another service with the same webhook format.'),
    url: urlSchema.describe('URL of the webhook.').meta({ secret: 'all' }),
    ...commonKeys,
  })
  .describe('A Slack channel.');

/** Maximum length of a header; Slack rejects messages with a longer header. */
const MAX_HEADER = 150;
/** Maximum length of a section; Slack rejects messages with a longer section. */
const MAX_SECTION = 3000;

/**
 * Slack shows the blocks in the channel and the text in notifications; services without support for blocks show only
 * the text. The message links to the chart instead of embedding the image, because Slack rejects a message whose image
 * it cannot fetch, and the console may be reachable only from an internal network.
 */
export function slackBody(message: Message): object {
  const { lines, diagnosis } = message;
  const title = titleOf(message);
  const links = linksOf(message).map(({ text, url }) => `<${escape(url)}|${text}>`);
  const paragraphs = [lines.map(escape).join('\n'), escape(diagnosis), links.join(' · ')].filter((one) => one !== '');
  return {
    text: [`*${escape(title)}*`, ...paragraphs].join('\n'),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: clipped(title, MAX_HEADER), emoji: false } },
      ...paragraphs.map((text) => ({
        type: 'section',
        text: { type: 'mrkdwn', text: clipped(text, MAX_SECTION), verbatim: true },
      })),
    ],
  };
}

/** Escapes the three characters that must be escaped in Slack's `mrkdwn`. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
