/** Which message about an incident a receiver is due now. */
import type { Cause } from '../../diagnosis/rules/cause.ts';
import type { Incident } from '../../diagnosis/rules/incident.ts';
import type { Severity } from '../../model.ts';
import { HOUR_MS, MINUTE_MS } from '../../time.ts';

export type NotificationEvent = 'opened' | 'updated' | 'closed';

/** What of an incident decides who is told what. */
export type IncidentToTell = Pick<Incident, 'severity' | 'closedAt' | 'settledAt' | 'cause'>;

/** A message that was due to a receiver, in the order in which it came to be. */
export interface Notified {
  readonly event: NotificationEvent;
  /** The cause that it told; null when none was known. */
  readonly cause: Cause | null;
  readonly sentAt: Date | null;
  readonly givenUpAt: Date | null;
}

export interface ReceiverNeeds {
  readonly minSeverity: Severity;
  /** Whether a message may be corrected without another sound. */
  readonly takesUpdates: boolean;
}

/** One that opened and closed between two looks is still told. */
export const JUST_CLOSED_MS = 5 * MINUTE_MS;

/** How long a message is tried that nobody takes. */
const RETRY_MS = HOUR_MS;

/**
 * One message opens an incident and one closes it; between them only who can take it without another sound is told of
 * another cause. Nobody is told of an end whose beginning never reached them.
 *
 * @param known all messages about the incident to the receiver, oldest first
 */
export function dueMessage(
  incident: IncidentToTell,
  known: readonly Notified[],
  { minSeverity, takesUpdates }: ReceiverNeeds,
  now: Date,
): NotificationEvent | null {
  if (incident.severity === 'warning' && minSeverity === 'critical') return null;
  const opened = known.find(({ event }) => event === 'opened');
  const { closedAt, settledAt, cause } = incident;
  if (opened === undefined) {
    const isNews = closedAt === null || now.getTime() - closedAt.getTime() < JUST_CLOSED_MS;
    return isNews ? 'opened' : null;
  }
  if (opened.givenUpAt !== null) return null;
  if (closedAt !== null) return known.some(({ event }) => event === 'closed') ? null : 'closed';
  const last = known.at(-1);
  const isCorrection = takesUpdates && settledAt !== null && last?.sentAt != null && last.cause !== cause;
  return isCorrection ? 'updated' : null;
}

const FIRST_WAIT_MS = 10_000;
const MAX_WAIT_MS = 5 * MINUTE_MS;

/** When a message that nobody took is tried again; null when it has been tried for an hour. */
export function nextAttempt(dueAt: Date, attempts: number, now: Date): Date | null {
  if (now.getTime() - dueAt.getTime() >= RETRY_MS) return null;
  return new Date(now.getTime() + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1)));
}
