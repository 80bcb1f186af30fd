/** Interface of a service that receives incident notifications. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Severity, severities } from '../../core/model.ts';
import type { Message } from '../../core/notification.ts';
import { proxySchema } from '../../platform/config/connection.ts';

export interface Receiver {
  /** Hash of the receiver's address and key; the same destination always has the same hash. */
  readonly id: string;
  readonly kind: string;
  /** Path of the receiver in the config, such as `notify[0]`. */
  readonly field: string;
  readonly minSeverity: Severity;
  /** True if a message that was sent can be corrected without alerting people again. */
  readonly takesUpdates: boolean;
  /** True if messages contain the chart as an attachment; false if they contain only a link to the chart. */
  readonly attachesChart: boolean;
  /**
   * Makes one attempt to deliver a message. Returns null if the message arrived; otherwise, returns one sentence that
   * states why delivery failed and contains no secrets.
   */
  send(message: Message, signal: AbortSignal): Promise<string | null>;
  close(): void;
}

export const minSeverity = z
  .enum(severities)
  .default('critical')
  .describe('Minimum severity of the incidents to report to this receiver.');

/** Config keys that all HTTP receivers have in common. */
export const commonKeys = { proxy: proxySchema, min_severity: minSeverity };

export interface CommonConfig extends z.infer<z.ZodObject<typeof commonKeys>> {
  readonly kind: string;
  readonly url: string;
}

export const urlSchema = z
  .string()
  .regex(/^https?:\/\/\S+$/, { error: 'must be an http:// or https:// URL', abort: true })
  .refine((text) => URL.canParse(text), { error: 'is not a valid URL; check its host and port' });

export function receiverId(...address: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(address)).digest('hex').slice(0, 16);
}

/**
 * Returns the title of a message: the event followed by the summary, such as `Critical: docs: retriever down (HTTP
 * 503)`.
 */
export function titleOf({ event, severity, closedBecause, summary }: Message): string {
  const start = severity === 'critical' ? 'Critical' : 'Warning';
  const end = closedBecause === 'left_config' ? 'Closed' : 'Resolved';
  return `${event === 'closed' ? end : event === 'updated' ? `${start}, cause found` : start}: ${summary}`;
}

/** Returns the links in a message. */
export function linksOf({
  link,
  runbook,
  chartLink,
}: Message): readonly { readonly text: string; readonly url: string }[] {
  return [
    { text: 'Incident', url: link },
    { text: 'Runbook', url: runbook },
    { text: 'Chart', url: chartLink },
  ].flatMap(({ text, url }) => (url === null ? [] : [{ text, url }]));
}

/** Shortens a text to at most `maximum` UTF-16 code units, without splitting a character. */
export function clipped(text: string, maximum: number): string {
  return text.length <= maximum ? text : `${text.slice(0, maximum - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
