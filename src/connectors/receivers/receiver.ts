/** What recalld requires of a service that receives notifications of incidents. */
import { z } from 'zod';
import { type Severity, severities } from '../../core/model.ts';
import type { Message } from '../../core/notification.ts';
import { proxySchema } from '../../platform/config/connection.ts';

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
