/** What recalld needs of a service that receives notifications of incidents, and what it sends to one. */
import { z } from 'zod';
import { type Severity, severities } from '../../core/model.ts';
import { proxySchema } from '../../platform/config/connection.ts';

export type NotificationEvent = 'opened' | 'updated' | 'closed';

export interface Message {
  readonly event: NotificationEvent;
  /** Unique for each message; a retry has the same one. */
  readonly id: string;
  /** Unique for each incident; the same in all of its messages. */
  readonly key: string;
  readonly pipeline: string;
  readonly severity: Severity;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
  readonly closedBecause: 'resolved' | 'left_config' | null;
  /** Enough on a lock screen: `docs: nDCG@10 0.55, below 0.7`, `docs: nDCG@10 recovered to 0.82 after 2 h`. */
  readonly summary: string;
  /** A line for each alert with its numbers: the current ones, or the worst ones when the incident is closed. */
  readonly lines: readonly string[];
  /** The likely cause with its evidence and what to do, or a sentence that it is still unknown. */
  readonly diagnosis: string;
  /** The page of the incident and the runbook of its worst alert; null without an address of the console in the config. */
  readonly link: string | null;
  readonly runbook: string | null;
}

export interface Receiver {
  /** Hash of the address and the key; constant as long as messages go to the same place. */
  readonly id: string;
  readonly kind: string;
  /** Where the config describes it: `notify[0]`. */
  readonly field: string;
  readonly minSeverity: Severity;
  /** True if a message can be corrected without alerting people a second time. */
  readonly takesUpdates: boolean;
  /** Makes one attempt. @returns why it failed, in a sentence without secrets; null when the message arrived */
  send(message: Message, signal: AbortSignal): Promise<string | null>;
  close(): void;
}

/** Config keys that every receiver has. */
export const commonKeys = {
  proxy: proxySchema,
  min_severity: z
    .enum(severities)
    .default('critical')
    .describe('Lowest severity of incidents that are sent: critical, or warning for both.'),
};

export interface CommonConfig extends z.infer<z.ZodObject<typeof commonKeys>> {
  readonly url: string;
}

export const urlSchema = z
  .string()
  .regex(/^https?:\/\/\S+$/, { error: 'must be an http:// or https:// URL', abort: true })
  .refine((text) => URL.canParse(text), { error: 'is not a valid URL; check its host and port' });
