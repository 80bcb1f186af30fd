/** Which message about an incident a receiver is due now, and what it says. */

import type { Message, NotificationEvent, Receiver } from '../../../connectors/receivers/receiver.ts';
import { duration, minute } from '../../../core/format.ts';
import { HOUR_MS, MINUTE_MS } from '../../../core/time.ts';
import { effectsText } from '../../diagnosis/rules/also-causes.ts';
import { type Cause, causeTexts, tellApart } from '../../diagnosis/rules/cause.ts';
import { noOneCause } from '../../diagnosis/rules/diagnose.ts';
import type { AlertTimeline, Incident } from '../../diagnosis/rules/incident.ts';
import { besideOf } from '../../diagnosis/rules/rank-causes.ts';

/** What of an incident decides which message is due. */
export type IncidentToTell = Pick<
  Incident,
  'severity' | 'openedAt' | 'closedAt' | 'confirmedAt' | 'cause' | 'confidence'
>;

/** A message that was due to a receiver, in the order in which it came to be. */
export interface Notified {
  readonly event: NotificationEvent;
  /** The cause that it told; null when none was known. */
  readonly cause: Cause | null;
  readonly sentAt: Date | null;
  readonly givenUpAt: Date | null;
}

/** An incident that opened and closed between two rounds is still reported. */
export const JUST_CLOSED_MS = 5 * MINUTE_MS;

/** How long a message is tried that nobody takes. */
const RETRY_MS = HOUR_MS;

/**
 * How old an incident is before its first message goes without a cause. With 15 s to the next round, a message comes at
 * most 30 s after its incident opened.
 */
const CAUSE_WAIT_MS = 15_000;

/**
 * The first message waits for the cause for a short time. A follow-up comes when a cause becomes known or changes, and
 * the last message when all alerts are resolved. An incident that is closed has no message but the last one: what it
 * says of a fault would not be true any more. No message reports the end of what could not be delivered at all.
 *
 * @param known all messages about the incident to the receiver, oldest first
 */
export function dueMessage(
  incident: IncidentToTell,
  known: readonly Notified[],
  { minSeverity, takesUpdates }: Pick<Receiver, 'minSeverity' | 'takesUpdates'>,
  now: Date,
): NotificationEvent | null {
  if (incident.severity === 'warning' && minSeverity === 'critical') return null;
  const opened = known.find(({ event }) => event === 'opened');
  const { openedAt, closedAt, confirmedAt } = incident;
  if (opened !== undefined && opened.givenUpAt !== null) return null;
  if (closedAt !== null) {
    if (known.some(({ event }) => event === 'closed')) return null;
    const isNews = opened !== undefined || now.getTime() - closedAt.getTime() < JUST_CLOSED_MS;
    return isNews ? 'closed' : null;
  }
  if (opened === undefined) {
    const hasWaited = now.getTime() - openedAt.getTime() >= CAUSE_WAIT_MS;
    return confirmedAt !== null || hasWaited ? 'opened' : null;
  }
  const last = known.at(-1);
  return confirmedAt !== null && last?.sentAt != null && isFollowUp(incident, last.cause, takesUpdates)
    ? 'updated'
    : null;
}

/** What makes a sound is not worth a guess: it reports another cause once that is more than one. */
function isFollowUp(
  { cause, confidence }: Pick<IncidentToTell, 'cause' | 'confidence'>,
  last: Cause | null,
  takesUpdates: boolean,
): boolean {
  if (cause === last || (last === null && cause === 'unknown')) return false;
  return takesUpdates || (cause !== 'unknown' && confidence !== 'low');
}

const FIRST_WAIT_MS = 10_000;
const MAX_WAIT_MS = 5 * MINUTE_MS;

/** When a message that nobody took is tried again; null when it has been tried for an hour. */
export function nextAttempt(dueAt: Date, attempts: number, now: Date): Date | null {
  if (now.getTime() - dueAt.getTime() >= RETRY_MS) return null;
  return new Date(now.getTime() + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1)));
}

/** @param consoleUrl where browsers reach recalld; null when it is not configured */
export function messageOf(incident: Incident, event: NotificationEvent, consoleUrl: string | null): Message {
  const { id, pipeline, severity, openedAt, closedAt, closedBecause, diagnosedAt, timeline } = incident;
  const console = consoleUrl === null ? null : consoleUrl.replace(/\/+$/, '');
  const worst = worstOf(incident);
  const isOver = event === 'closed';
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
    summary: `${pipeline}: ${isOver ? endOf(incident, worst) : (worst?.worst.headline ?? 'an alert fires')}`,
    lines: isOver
      ? timeline.map(lineOfEnd)
      : timeline.filter(({ currentSeverity }) => currentSeverity !== null).map(({ worst: { text } }) => text),
    diagnosis: isOver ? causeThatWas(incident) : diagnosisOf(incident),
    link: console && `${console}/incidents/${id}`,
    runbook: console && `${console}/runbooks/${worst?.rule ?? ''}`,
  };
}

/** Of the most severe alerts one that still fires, else the one that came first. */
function worstOf({ timeline, severity }: Incident): AlertTimeline | undefined {
  const severe = timeline.filter((one) => one.severity === severity);
  return severe.find(({ currentSeverity }) => currentSeverity !== null) ?? severe[0] ?? timeline[0];
}

function endOf({ openedAt, closedAt, closedBecause }: Incident, worst: AlertTimeline | undefined): string {
  const after = closedAt === null ? '' : ` after ${duration((closedAt.getTime() - openedAt.getTime()) / 1000)}`;
  if (closedBecause === 'left_config') return `closed${after}: ${LEFT_CONFIG}`;
  return `${worst?.recovered ?? 'all alerts resolved'}${after}`;
}

const LEFT_CONFIG = 'it left the config and is no longer evaluated; it was not seen to recover';

/** In no tense, so that nothing that is over reads as if it went on. */
function lineOfEnd({ name, recovered, openedAt, endedAt, worst }: AlertTimeline): string {
  const until = endedAt === null ? '' : ` to ${minute(endedAt)} UTC`;
  const end = recovered === null ? '' : ` ${recovered.charAt(0).toUpperCase()}${recovered.slice(1)}.`;
  return `${name}: from ${minute(openedAt)} UTC${until}, at its worst ${worst.headline}.${end}`;
}

/** So many signs that speak for a cause are evidence enough for a message. */
const MAX_EVIDENCE = 2;

/** Titles, evidence and actions, and of an unknown cause what differs most; no topics, whose names are in words of users. */
function diagnosisOf(incident: Incident): string {
  const { confirmedAt, cause, confidence, ranked, also } = incident;
  if (confirmedAt === null) return 'Cause not yet known.';
  const { title, action } = causeTexts[cause];
  const own = ranked.find((one) => one.cause === cause)?.supporting ?? [];
  const evidence = own.filter(({ name }) => name !== 'topics').slice(0, MAX_EVIDENCE);
  const because = evidence.map(({ sentence }) => ` ${sentence}`).join('');
  const others = also.map(
    (one) =>
      ` Likely cause of ${effectsText(one)}: ${causeTexts[one.cause].title} (${one.confidence} confidence). ${causeTexts[one.cause].action}`,
  );
  if (cause === 'unknown')
    return others.length === 0 ? `Cause unknown.${because} ${action}` : [noOneCause, ...others].join('');
  const beside = besideOf(incident);
  const first =
    beside === null
      ? `Likely cause: ${title} (${confidence} confidence).${because} ${action}`
      : `Likely cause: ${title} or ${causeTexts[beside.cause].title} (${confidence} confidence).${because} ${tellApart(cause, beside.cause)}`;
  return [first, ...others].join('');
}

function causeThatWas({ confirmedAt, cause, confidence }: Incident): string {
  if (confirmedAt === null || cause === 'unknown') return 'Its cause stayed unknown.';
  return `Diagnosed cause: ${causeTexts[cause].title} (${confidence} confidence).`;
}
