import type { Severity } from './model.ts';

export type NotificationEvent = 'opened' | 'updated' | 'closed';

export interface Message {
  readonly event: NotificationEvent;
  /** Id of the message; a retry has the same id. */
  readonly id: string;
  /** Key of the incident, which is the same in all of its messages. */
  readonly key: string;
  readonly pipeline: string;
  readonly severity: Severity;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
  readonly closedBecause: 'resolved' | 'left_config' | null;
  /** Short summary for a lock screen: `docs: nDCG@10 0.55, below 0.7`, `docs: nDCG@10 recovered to 0.82 after 2 h`. */
  readonly summary: string;
  /** One line per alert with its current numbers, or with its worst numbers if the incident is closed. */
  readonly lines: readonly string[];
  /** The likely cause with its evidence and the fix, or a sentence stating that the cause is still unknown. */
  readonly diagnosis: string;
  /** URL of the incident's page; null if the config has no console URL. */
  readonly link: string | null;
  /** URL of the runbook for the incident's worst alert; null if the config has no console URL. */
  readonly runbook: string | null;
  /**
   * URL at which the chart of the failing measure can be opened without a session; null if the config has no console
   * URL, or if the alert has no measure.
   */
  readonly chartLink: string | null;
  /** Chart of the failing measure as a PNG; null if the receiver attaches no charts, or if the alert has no measure. */
  readonly chartPng: Uint8Array | null;
}
