/**
 * Sends notifications about incidents to the receivers. Due notifications are stored in PostgreSQL, so that they
 * survive a crash.
 */

import type { Pool } from 'pg';
import type { Context } from '../../core/context.ts';
import { messageOf as messageOfError } from '../../core/errors.ts';
import type { NotificationEvent } from '../../core/notification.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { defineCronJob } from '../../platform/queue/job-queue.ts';
import type { Cause } from '../diagnosis/rules/cause.ts';
import type { Incident } from '../diagnosis/rules/incident.ts';
import {
  dueMessage,
  JUST_CLOSED_MS,
  messageOf,
  type NotifiableIncident,
  type Notified,
  nextAttempt,
} from './rules/message.ts';

export const sendNotificationsJob = defineCronJob({
  name: 'send-notifications',
  does: 'Sends due notifications to the receivers of `notify`, every 15 seconds and after each diagnosis.',
  // This job runs 5 s after the diagnosis job, so that messages include a confirmed cause.
  cron: '10,25,40,55 * * * * *',
  timeoutMs: 120_000,
  handle: (context: Context, signal) => notify(context, signal),
});

/**
 * Records due notifications before it sends them, so that they survive a crash of this process. Failed notifications
 * are counted (`recalld_notifications_total`) and retried; see `nextAttempt`.
 *
 * @throws AggregateError with all errors other than failures of a receiver; thrown only after every notification was
 *   tried
 */
export async function notify(context: Context, signal: AbortSignal): Promise<void> {
  const { receivers, db, clock } = context;
  if (receivers.length === 0) return;
  await addDue(context);
  await db.notifications.discardOutdated(clock.now());
  const taken = await db.notifications.take(clock.now());
  const sent = await Promise.allSettled(taken.map((one) => send(context, one, signal)));
  const errors = sent.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  if (errors.length > 0) throw new AggregateError(errors);
}

async function addDue({ db, receivers, clock }: Context): Promise<void> {
  const now = clock.now();
  const found = await db.notifications.incidents(now);
  if (found.length === 0) return;
  const known = await db.notifications.about(found.map(({ id }) => id));
  const silences = await db.silences.endingAfter(new Date(now.getTime() - JUST_CLOSED_MS));
  for (const incident of found) {
    for (const receiver of receivers) {
      const own = known.filter((one) => one.incidentId === incident.id && one.receiver === receiver.id);
      const event = dueMessage(incident, own, receiver, now, silences);
      if (event !== null) await db.notifications.add(incident.id, receiver.id, event, now);
    }
  }
}

async function send(context: Context, due: DueNotification, signal: AbortSignal): Promise<void> {
  const { db, receivers, config, meter, clock, logger } = context;
  const receiver = receivers.find(({ id }) => id === due.receiver);
  const incident = await db.incidents.find(due.incidentId);
  // The receiver may have been removed from the config.
  if (receiver === undefined || incident === null) return db.notifications.giveUp(due.id, clock.now());
  // The incident has closed since the message became due, so only the last message is still correct.
  if (due.event !== 'closed' && incident.closedAt !== null) return db.notifications.discard(due.id);
  const { kind, field } = receiver;
  const png = receiver.attachesChart ? await chartOf(context, incident) : null;
  const message = messageOf(incident, due.event, config.alerts.console_base_url, context.hashKey, png);
  const problem = await receiver.send(message, signal);
  const now = clock.now();
  const details = { receiver: field, event: due.event, pipeline: incident.pipeline };
  if (problem === null) {
    await db.notifications.sent(due.id, incident.confirmedAt && incident.cause, now);
    meter.increment('recalld_notifications_total', { kind, outcome: 'sent' });
    logger.info('a notification was sent', details);
    return;
  }
  const failed = { ...details, reason: problem };
  const next = nextAttempt(due.dueAt, due.attempts, now);
  meter.increment('recalld_notifications_total', { kind, outcome: next === null ? 'given_up' : 'failed' });
  if (next === null) {
    logger.error('a notification was abandoned after an hour', failed);
    return db.notifications.giveUp(due.id, now);
  }
  logger.warn('a notification failed and will be retried', { ...failed, next_attempt: next.toISOString() });
  return db.notifications.retryAt(due.id, next);
}

/**
 * Returns null if the alert has no measure, or if the chart cannot be drawn; the message is then sent without a chart.
 */
async function chartOf({ hooks, logger }: Context, incident: Incident): Promise<Uint8Array | null> {
  try {
    return await hooks.drawIncident(incident);
  } catch (error) {
    logger.warn('the chart of a notification could not be drawn', { reason: messageOfError(error) });
    return null;
  }
}

export interface DueNotification {
  readonly id: string;
  readonly incidentId: string;
  readonly receiver: string;
  readonly event: NotificationEvent;
  readonly dueAt: Date;
  /** Number of attempts, including this one. */
  readonly attempts: number;
}

export type Notifications = ReturnType<typeof createNotifications>;

/** A notification as shown on the incident's page. */
export interface SentMessage extends Omit<DueNotification, 'id' | 'incidentId'> {
  readonly sentAt: Date | null;
  readonly givenUpAt: Date | null;
}

/** Duration of a lease. When it ends, a notification whose worker died is retried. */
const LEASE = '1 minute';

export function createNotifications(pool: Pool) {
  return {
    /**
     * Returns incidents that are open, incidents that closed at most `JUST_CLOSED_MS` ago, and reported incidents whose
     * last message has not been recorded yet.
     */
    incidents: (at: Date) =>
      queryRows<NotifiableIncident & { readonly id: string }>(
        pool,
        `select i.id, i.pipeline, i.severity, i.opened_at, i.closed_at, i.confirmed_at,
                d.cause, d.confidence
           from incidents i
           join lateral (select cause, confidence from diagnoses
                          where incident_id = i.id order by id desc limit 1) d on true
          where i.closed_at is null or i.closed_at > $1::timestamptz
             or exists (select 1 from notifications o
                         where o.incident_id = i.id and o.event = 'opened' and o.given_up_at is null
                           and not exists (select 1 from notifications c
                                            where c.incident_id = i.id and c.receiver = o.receiver
                                              and c.event = 'closed'))
          order by i.id`,
        [new Date(at.getTime() - JUST_CLOSED_MS)],
      ),

    /** Returns the notifications about the given incidents, oldest first. */
    about: (incidents: readonly string[]) =>
      queryRows<Notified & Pick<DueNotification, 'incidentId' | 'receiver'>>(
        pool,
        `select incident_id, receiver, event, cause, sent_at, given_up_at
           from notifications where incident_id = any($1::bigint[]) order by id`,
        [incidents],
      ),

    /** Returns the notifications about an incident, oldest first, with the fields that pages and commands show. */
    messages: (incidentId: string) =>
      queryRows<SentMessage>(
        pool,
        `select receiver, event, due_at, sent_at, given_up_at, attempts from notifications
          where incident_id = $1::bigint order by id`,
        [incidentId],
      ),

    /** Records a notification once, even if several replicas find it due. */
    async add(incidentId: string, receiver: string, event: NotificationEvent, at: Date): Promise<void> {
      await pool.query(
        `insert into notifications (incident_id, receiver, event, due_at, next_attempt_at)
         select $1::bigint, $2::text, $3::text, $4::timestamptz, $4::timestamptz
          where $3::text <> 'updated' or not exists (
                select 1 from notifications where incident_id = $1::bigint and receiver = $2::text and sent_at is null)
         on conflict do nothing`,
        [incidentId, receiver, event, at],
      );
    },

    /**
     * Deletes due notifications about closed incidents, because they are no longer correct, except the last message of
     * each incident.
     */
    async discardOutdated(at: Date): Promise<void> {
      await pool.query(
        `delete from notifications n using incidents i
          where i.id = n.incident_id and i.closed_at is not null and n.event <> 'closed'
            and n.sent_at is null and n.given_up_at is null and n.next_attempt_at <= $1::timestamptz`,
        [at],
      );
    },

    async discard(id: string): Promise<void> {
      await pool.query('delete from notifications where id = $1::bigint', [id]);
    },

    /**
     * Leases the due notifications, in order for each receiver. Leases no further messages about an incident after
     * recalld has stopped retrying the first one.
     */
    take: (at: Date) =>
      queryRows<DueNotification>(
        pool,
        `update notifications set attempts = attempts + 1, next_attempt_at = $1::timestamptz + interval '${LEASE}'
          where id in (select id from notifications n
                        where sent_at is null and given_up_at is null and next_attempt_at <= $1::timestamptz
                          and not exists (select 1 from notifications e
                                           where e.incident_id = n.incident_id and e.receiver = n.receiver
                                             and e.id < n.id and e.sent_at is null
                                             and (e.given_up_at is null or e.event = 'opened'))
                        order by id limit 20 for update skip locked)
         returning id, incident_id, receiver, event, due_at, attempts`,
        [at],
      ),

    /** @param cause the cause that the notification reported; null if it reported none */
    async sent(id: string, cause: Cause | null, at: Date): Promise<void> {
      const sql = 'update notifications set sent_at = $2::timestamptz, cause = $3::text where id = $1::bigint';
      await pool.query(sql, [id, at, cause]);
    },

    async retryAt(id: string, at: Date): Promise<void> {
      await pool.query('update notifications set next_attempt_at = $2::timestamptz where id = $1::bigint', [id, at]);
    },

    async giveUp(id: string, at: Date): Promise<void> {
      await pool.query('update notifications set given_up_at = $2::timestamptz where id = $1::bigint', [id, at]);
    },
  };
}
