/** PagerDuty's Events API v2. */
import { z } from 'zod';
import type { Message } from '../../core/notification.ts';
import { textSchema } from '../../platform/config/connection.ts';
import { clipped, commonKeys, linksOf, urlSchema } from './receiver.ts';

export const pagerdutySchema = z
  .strictObject({
    kind: z.literal('pagerduty').describe('PagerDuty, through the Events API v2.'),
    url: urlSchema
      .default('https://events.pagerduty.com/v2/enqueue')
      .describe('URL of the Events API.')
      .meta({ secret: 'url' }),
    routing_key: textSchema
      .optional()
      .describe('Integration key of the service. PagerDuty requires it.')
      .meta({ secret: 'all' }),
    ...commonKeys,
  })
  .describe('A PagerDuty service.');

/** Maximum length of a summary in the Events API v2. */
const MAX_SUMMARY = 1024;
/** Maximum length of a key; the API rejects an event with a longer key. */
const MAX_KEY = 255;

/** A second trigger with the same `dedup_key` is added to the log of the incident and does not page again. */
export function pagerdutyBody(message: Message, routingKey: string | null): object {
  const { event, key, pipeline, severity, openedAt, summary, lines, diagnosis, link, chartLink } = message;
  const common = {
    ...(routingKey === null ? {} : { routing_key: routingKey }),
    dedup_key: key.slice(-MAX_KEY),
  };
  if (event === 'closed') return { ...common, event_action: 'resolve' };
  return {
    ...common,
    event_action: 'trigger',
    client: 'recalld',
    ...(link === null ? {} : { client_url: link }),
    payload: {
      summary: clipped(summary, MAX_SUMMARY),
      source: pipeline,
      severity,
      timestamp: openedAt.toISOString(),
      component: 'retrieval',
      custom_details: { alerts: lines.join('\n'), diagnosis },
    },
    links: linksOf(message).map(({ text, url }) => ({ href: url, text })),
    // PagerDuty shows an image only if it has an https address.
    images:
      chartLink?.startsWith('https://') === true
        ? [{ src: chartLink, href: link ?? chartLink, alt: 'The failing measure over time' }]
        : [],
  };
}
