/** Decides which notification about an incident is due for a receiver, and composes it. */

import { createHmac } from 'node:crypto';
import { duration, minute } from '../../../core/format.ts';
import type { Severity } from '../../../core/model.ts';
import type { Message, NotificationEvent } from '../../../core/notification.ts';
import { HOUR_MS, MINUTE_MS } from '../../../core/time.ts';
import { effectsText } from '../../diagnosis/rules/also-causes.ts';
import { type Cause, causeTexts, tellApart } from '../../diagnosis/rules/cause.ts';
import { noOneCause } from '../../diagnosis/rules/diagnose.ts';
import { type AlertTimeline, type Incident, worstAlert } from '../../diagnosis/rules/incident.ts';
import { besideOf } from '../../diagnosis/rules/rank-causes.ts';
import { isSilenced, type Silence } from './silence.ts';

export type NotifiableIncident = Pick<
  Incident,
  'pipeline' | 'severity' | 'openedAt' | 'closedAt' | 'confirmedAt' | 'cause' | 'confidence'
>;

export interface Notified {
  readonly event: NotificationEvent;
  /** The reported cause; null if it was unknown. */
  readonly cause: Cause | null;
  readonly sentAt: Date | null;
  readonly givenUpAt: Date | null;
}

/**
 * How long recalld still reports a closed incident that no message has reported yet. For example, an incident may open
 * and close between two runs of the job.
 */
export const JUST_CLOSED_MS = 5 * MINUTE_MS;

/** How long a failed notification is retried. */
const RETRY_MS = HOUR_MS;

/**
 * Maximum time that the first message waits for a cause. The job runs every 15 s, so the message is sent within 30 s.
 */
const CAUSE_WAIT_MS = 15_000;

/**
 * Returns the notification that is due, or null if none is. The first message waits a short time for the cause. A
 * follow-up reports that the cause became known or changed. The last message reports that all alerts are resolved. For
 * a closed incident, only the last message is due, because other messages would no longer be correct. No further
 * message is due once recalld has stopped retrying the first message. A silence suppresses all messages except the last
 * message of a reported incident. If an unreported incident closes during a silence, no message is sent.
 *
 * @param known all messages about the incident to the receiver, oldest first
 */
export function dueMessage(
  incident: NotifiableIncident,
  known: readonly Notified[],
  { minSeverity, takesUpdates }: { readonly minSeverity: Severity; readonly takesUpdates: boolean },
  now: Date,
  silences: readonly Silence[] = [],
): NotificationEvent | null {
  if (incident.severity === 'warning' && minSeverity === 'critical') return null;
  const opened = known.find(({ event }) => event === 'opened');
  const { pipeline, openedAt, closedAt, confirmedAt } = incident;
  if (opened !== undefined && opened.givenUpAt !== null) return null;
  if (closedAt !== null) {
    if (known.some(({ event }) => event === 'closed')) return null;
    const isNews = now.getTime() - closedAt.getTime() < JUST_CLOSED_MS && !isSilenced(silences, pipeline, closedAt);
    return opened !== undefined || isNews ? 'closed' : null;
  }
  if (isSilenced(silences, pipeline, now)) return null;
  if (opened === undefined) {
    const hasWaited = now.getTime() - openedAt.getTime() >= CAUSE_WAIT_MS;
    return confirmedAt !== null || hasWaited ? 'opened' : null;
  }
  const last = known.at(-1);
  return confirmedAt !== null && last?.sentAt != null && isFollowUp(incident, last.cause, takesUpdates)
    ? 'updated'
    : null;
}

/**
 * Returns true if a new cause justifies a message. If every message to the receiver alerts people, only a known cause
 * with at least medium confidence justifies one.
 */
function isFollowUp({ cause, confidence }: NotifiableIncident, last: Cause | null, takesUpdates: boolean): boolean {
  if (cause === last || (last === null && cause === 'unknown')) return false;
  return takesUpdates || (cause !== 'unknown' && confidence !== 'low');
}

const FIRST_WAIT_MS = 10_000;
const MAX_WAIT_MS = 5 * MINUTE_MS;

/** Returns the time of the next attempt to send a failed notification; null after an hour of attempts. */
export function nextAttempt(dueAt: Date, attempts: number, now: Date): Date | null {
  if (now.getTime() - dueAt.getTime() >= RETRY_MS) return null;
  return new Date(now.getTime() + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1)));
}

/**
 * @param consoleUrl URL of recalld for browsers; null if it is not configured
 * @param secret HMAC key for the keys in chart links
 * @param chartPng the chart to attach; null if there is none
 */
export function messageOf(
  incident: Incident,
  event: NotificationEvent,
  consoleUrl: string | null,
  secret: string,
  chartPng: Uint8Array | null = null,
): Message {
  const { id, pipeline, severity, openedAt, closedAt, closedBecause, diagnosedAt, timeline } = incident;
  const console = consoleUrl === null ? null : consoleUrl.replace(/\/+$/, '');
  const worst = worstAlert(incident);
  const isClosed = event === 'closed';
  const key = `recalld/${pipeline}/${openedAt.toISOString()}/${id}`;
  return {
    event,
    id: event === 'updated' ? `${key}/updated/${diagnosedAt.toISOString()}` : `${key}/${event}`,
    key,
    pipeline,
    severity,
    openedAt,
    closedAt,
    closedBecause,
    summary: `${pipeline}: ${isClosed ? recoveryOf(incident, worst) : (worst?.worst.headline ?? 'an alert is firing')}`,
    lines: isClosed
      ? timeline.map((one) => recoveryLine(one, one === worst))
      : timeline.filter(({ currentSeverity }) => currentSeverity !== null).map(({ worst: { text } }) => text),
    diagnosis: isClosed ? lastCause(incident) : diagnosisOf(incident),
    link: console && `${console}/incidents/${id}`,
    runbook: console === null || worst === undefined ? null : `${console}/runbooks/${worst.rule}`,
    chartLink: console === null || worst?.measured === undefined ? null : `${console}${chartPath(id, secret)}`,
    chartPng,
  };
}

/**
 * Returns the path of an incident's chart. The path contains a key that cannot be guessed, because receivers have no
 * session.
 */
export function chartPath(id: string, secret: string): string {
  const key = createHmac('sha256', secret).update(`chart of incident ${id}`).digest('hex');
  return `/charts/${id}-${key}.png`;
}

function recoveryOf({ openedAt, closedAt, closedBecause }: Incident, worst: AlertTimeline | undefined): string {
  const after = closedAt === null ? '' : ` after ${duration((closedAt.getTime() - openedAt.getTime()) / 1000)}`;
  if (closedBecause === 'left_config') return `closed${after}: ${LEFT_CONFIG}`;
  return `${worst?.recovered ?? 'all alerts resolved'}${after}`;
}

const LEFT_CONFIG = 'the alerts were removed from the config before they were resolved';

/**
 * Describes the firing period, the worst state and the recovery of an alert. A headline without a verb describes the
 * worst state, so that the description remains true after the alert resolves.
 *
 * @param isInSummary true if the summary already reports the recovery
 */
function recoveryLine({ name, recovered, openedAt, endedAt, worst }: AlertTimeline, isInSummary: boolean): string {
  const [from, until] = [minute(openedAt), endedAt === null ? null : minute(endedAt)];
  // The text repeats the day only if the firing period ends on another day.
  const to = until === null ? '' : ` to ${until.startsWith(from.slice(0, 10)) ? until.slice(11) : until}`;
  const now = recovered === null || isInSummary ? '' : ` Now: ${recovered}.`;
  return `${name}: fired from ${from}${to} UTC. Worst: ${worst.headline}.${now}`;
}

const MAX_EVIDENCE = 2;

/** Describes the cause, the evidence and the action. Omits topics, because their names come from user texts. */
function diagnosisOf(incident: Incident): string {
  const { confirmedAt, cause, confidence, ranked, also } = incident;
  if (confirmedAt === null) return 'Cause not yet known.';
  const { title, action } = causeTexts[cause];
  const own = ranked.find((one) => one.cause === cause)?.supporting ?? [];
  const evidence = own.filter(({ name }) => name !== 'topics').slice(0, MAX_EVIDENCE);
  const because = evidence.map(({ sentence }) => ` ${sentence}`).join('');
  const others = also.map(
    (one) =>
      ` Likely cause of ${effectsText(one)}: ${causeTexts[one.cause].title} (${one.confidence} confidence). What to do: ${causeTexts[one.cause].action}`,
  );
  if (cause === 'unknown')
    return others.length === 0 ? `Cause unknown.${because} What to do: ${action}` : [noOneCause, ...others].join('');
  const beside = besideOf(incident);
  const first =
    beside === null
      ? `Likely cause: ${title} (${confidence} confidence).${because} What to do: ${action}`
      : `Likely cause: ${title} or ${causeTexts[beside.cause].title} (${confidence} confidence).${because} ${tellApart(cause, beside.cause)}`;
  return [first, ...others].join('');
}

function lastCause({ confirmedAt, cause, confidence }: Incident): string {
  if (confirmedAt === null || cause === 'unknown') return 'The cause remained unknown.';
  return `Diagnosed cause: ${causeTexts[cause].title} (${confidence} confidence).`;
}
