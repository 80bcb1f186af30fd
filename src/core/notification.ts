/** What is sent to people when an incident opens, changes and closes. */
import type { Severity } from './model.ts';

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
  /**
   * Chart of the failing measure, as a link that needs no session and as the image itself. Both are null for an alert
   * without a measure; the link without an address of the console, the image for receivers that do not attach it.
   */
  readonly chartLink: string | null;
  readonly chartPng: Uint8Array | null;
}
