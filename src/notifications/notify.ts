/** Tells receivers of incidents that open and close. */
import type { Clock } from '../clock.ts';
import type { Incidents } from '../diagnosis/incidents.ts';
import type { Incident } from '../diagnosis/rules/incident.ts';
import type { Logger } from '../logger.ts';
import type { Meter } from '../metrics/meter.ts';
import type { DueNotification, Notifications } from './notifications.ts';
import type { Receiver } from './receivers.ts';
import { dueMessage, nextAttempt } from './rules/due.ts';
import { type MessageSettings, messageOf } from './rules/message.ts';

export interface NotifyDeps {
  readonly incidents: Pick<Incidents, 'find'>;
  readonly notifications: Notifications;
  readonly receivers: readonly Receiver[];
  readonly message: MessageSettings;
  readonly meter: Pick<Meter, 'increment'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Puts down what is due, and sends what was put down: a message survives whoever was about to send it. */
export async function notify(deps: NotifyDeps, signal: AbortSignal): Promise<void> {
  const { receivers, notifications, clock } = deps;
  if (receivers.length === 0) return;
  await addDue(deps);
  const taken = await notifications.take(clock.now());
  await Promise.all(taken.map((one) => send(deps, one, signal)));
}

async function addDue({ notifications, receivers, clock }: NotifyDeps): Promise<void> {
  const now = clock.now();
  const found = await notifications.incidents(now);
  if (found.length === 0) return;
  const known = await notifications.about(found.map(({ id }) => id));
  for (const incident of found) {
    for (const receiver of receivers) {
      const own = known.filter((one) => one.incidentId === incident.id && one.receiver === receiver.id);
      const event = dueMessage(incident, own, receiver, now);
      if (event !== null) await notifications.add(incident.id, receiver.id, event, now);
    }
  }
}

async function send(deps: NotifyDeps, due: DueNotification, signal: AbortSignal): Promise<void> {
  const { incidents, notifications, receivers, message, meter, clock, logger } = deps;
  const receiver = receivers.find(({ id }) => id === due.receiver);
  const incident = await incidents.find(due.incidentId);
  // The config may have lost who it was for.
  if (receiver === undefined || incident === null) return notifications.giveUp(due.id, clock.now());
  const { kind, field } = receiver;
  const problem = await receiver.send(messageOf(incident, due.event, message), signal);
  const now = clock.now();
  const told = { receiver: field, event: due.event, pipeline: incident.pipeline };
  if (problem === null) {
    meter.increment('recalld_notifications_total', { kind, outcome: 'sent' });
    logger.info('told of an incident', told);
    return notifications.sent(due.id, causeTold(incident), now);
  }
  const next = nextAttempt(due.dueAt, due.attempts, now);
  meter.increment('recalld_notifications_total', { kind, outcome: next === null ? 'given_up' : 'failed' });
  if (next === null) {
    logger.error('nobody could be told of an incident for an hour', { ...told, reason: problem });
    return notifications.giveUp(due.id, now);
  }
  logger.warn('could not tell of an incident', { ...told, reason: problem, next_attempt: next.toISOString() });
  return notifications.retryAt(due.id, next);
}

function causeTold({ settledAt, cause }: Incident): Incident['cause'] | null {
  return settledAt === null ? null : cause;
}
