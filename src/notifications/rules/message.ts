/** Which message about an incident a receiver is due now, and what it says. */
import { effectsText } from '../../diagnosis/rules/also-causes.ts';
import { type Cause, causeTexts, tellApart } from '../../diagnosis/rules/cause.ts';
import type { Incident } from '../../diagnosis/rules/incident.ts';
import { besideOf } from '../../diagnosis/rules/rank-causes.ts';
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

export interface Message {
  readonly event: NotificationEvent;
  /** The same for all messages of one incident, and for no other in the world. */
  readonly key: string;
  readonly pipeline: string;
  readonly severity: Severity;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
  readonly closedBecause: Incident['closedBecause'];
  /** One line, the same while the incident lasts. */
  readonly summary: string;
  /** A line for each alarm, with its numbers. */
  readonly lines: readonly string[];
  /** What was likely behind it, or that nobody knows yet. */
  readonly diagnosis: string;
  /** The page of the incident and the runbook of its worst alarm; null where no address of the console is configured. */
  readonly link: string | null;
  readonly runbook: string | null;
}

export interface MessageSettings {
  /** Where browsers reach recalld; null when it is not configured. */
  readonly consoleUrl: string | null;
  /** Of the alert rules, by name, with the labels in them as templates of Prometheus write them. */
  readonly summaries: ReadonlyMap<string, string>;
}

export function messageOf(
  incident: Incident,
  event: NotificationEvent,
  { consoleUrl, summaries }: MessageSettings,
): Message {
  const { id, pipeline, severity, openedAt, closedAt, closedBecause, course } = incident;
  const console = consoleUrl === null ? null : consoleUrl.replace(/\/+$/, '');
  const alert = course.find((one) => one.severity === severity)?.alert ?? '';
  const summary = summaries.get(alert) ?? 'Retrieval of {{ $labels.pipeline }} is not as it should be.';
  return {
    event,
    key: `recalld/${pipeline}/${openedAt.toISOString()}/${id}`,
    pipeline,
    severity,
    openedAt,
    closedAt,
    closedBecause,
    summary: summary.replaceAll('{{ $labels.pipeline }}', pipeline),
    lines: [
      ...(closedBecause === 'left_config' ? [LEFT_CONFIG] : []),
      ...course.map(({ name, worst }) => `${name}: ${worst.text}`),
    ],
    diagnosis: diagnosisOf(incident),
    link: console && `${console}/incidents/${id}`,
    runbook: console && `${console}/runbooks/${alert}`,
  };
}

const LEFT_CONFIG = 'It left the config and is no longer evaluated. It was not seen to recover.';

/** Differences that a message names where the cause is unknown. */
const MAX_DIFFERENCES = 2;

/** Titles and actions, and of an unknown cause what differs most; no topics, whose names are in words of users. */
function diagnosisOf({ settledAt, cause, confidence, ranked, also }: Incident): string {
  if (settledAt === null) return 'Cause not yet known.';
  const { title, action } = causeTexts[cause];
  if (cause === 'unknown') {
    const differences = ranked
      .flatMap((one) => (one.cause === 'unknown' ? one.supporting : []))
      .filter(({ name }) => name !== 'topics')
      .slice(0, MAX_DIFFERENCES);
    return ['Cause unknown.', ...differences.map(({ sentence }) => sentence), action].join(' ');
  }
  const others = also.map(
    (one) =>
      ` Likely cause of ${effectsText(one)}: ${causeTexts[one.cause].title} (${one.confidence} confidence). ${causeTexts[one.cause].action}`,
  );
  const beside = besideOf(ranked, cause);
  const first =
    beside === null
      ? `Likely cause: ${title} (${confidence} confidence). ${action}`
      : `Likely cause: ${title} or ${causeTexts[beside.cause].title} (${confidence} confidence). ${tellApart(cause, beside.cause)}`;
  return [first, ...others].join('');
}

/** `after 12 min`: how long a closed incident took. */
function took({ openedAt, closedAt }: Message): string {
  return closedAt === null
    ? ''
    : ` It took ${Math.max(1, Math.round((closedAt.getTime() - openedAt.getTime()) / MINUTE_MS))} min.`;
}

/** What a service of the user's own gets. */
export function webhookBody(message: Message): object {
  const { event, key, pipeline, severity, openedAt, closedAt, summary, lines, diagnosis, link, runbook } = message;
  return {
    version: 1,
    event: `incident.${event}`,
    id: `${key}/${event}`,
    incident: {
      key,
      pipeline,
      severity,
      opened_at: openedAt.toISOString(),
      closed_at: closedAt?.toISOString() ?? null,
      closed_because: message.closedBecause,
    },
    summary,
    description: lines.join('\n'),
    diagnosis,
    ...(link === null ? {} : { console_url: link }),
    ...(runbook === null ? {} : { runbook_url: runbook }),
  };
}

/** `mrkdwn` of Slack knows three characters that must be escaped. */
export function slackBody(message: Message): object {
  const { event, severity, summary, lines, diagnosis, link, runbook } = message;
  const end = message.closedBecause === 'left_config' ? 'Closed' : 'Resolved';
  const head = event === 'closed' ? end : severity === 'critical' ? 'Critical' : 'Warning';
  const escaped = [
    `*${head}: ${forSlack(summary)}*${took(message)}`,
    ...[...lines, diagnosis].map(forSlack),
    ...(link === null ? [] : [`<${forSlack(link)}|The incident> <${forSlack(runbook ?? link)}|The runbook>`]),
  ];
  return { text: escaped.join('\n') };
}

function forSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** An event of PagerDuty's Events API v2; a trigger of the same key adds to the log of the incident without a sound. */
export function pagerdutyBody(message: Message, routingKey: string | null): object {
  const { event, key, pipeline, severity, openedAt, summary, lines, diagnosis, link, runbook } = message;
  const common = { ...(routingKey === null ? {} : { routing_key: routingKey }), dedup_key: key };
  if (event === 'closed') return { ...common, event_action: 'resolve' };
  return {
    ...common,
    event_action: 'trigger',
    payload: {
      summary: [summary, ...lines].join(' ').slice(0, 1024),
      source: pipeline,
      severity,
      timestamp: openedAt.toISOString(),
      component: 'retrieval',
      custom_details: { description: lines.join('\n'), diagnosis },
    },
    ...(link === null
      ? {}
      : {
          links: [
            { href: link, text: 'The incident' },
            { href: runbook ?? link, text: 'The runbook' },
          ],
        }),
  };
}
