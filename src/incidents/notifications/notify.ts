/**
 * Tells receivers of incidents that open and close. What is due is in PostgreSQL, so that no message is lost with a
 * process.
 */

import type { Pool } from 'pg';
import type { NotificationEvent } from '../../connectors/receivers/receiver.ts';
import type { Context } from '../../core/context.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import type { Cause } from '../diagnosis/rules/cause.ts';
import type { Incident } from '../diagnosis/rules/incident.ts';
import {
  dueMessage,
  type IncidentToTell,
  JUST_CLOSED_MS,
  messageOf,
  type Notified,
  nextAttempt,
} from './rules/message.ts';

/**
 * Records what is due, and sends what was recorded: a message survives the process that was about to send it. A receiver
 * that does not take a message is counted (`recalld_notifications_total`) and tried again, see `nextAttempt`.
 *
 * @throws what failed otherwise, after all messages were tried
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
  for (const incident of found) {
    for (const receiver of receivers) {
      const own = known.filter((one) => one.incidentId === incident.id && one.receiver === receiver.id);
      const event = dueMessage(incident, own, receiver, now);
      if (event !== null) await db.notifications.add(incident.id, receiver.id, event, now);
    }
  }
}

async function send(context: Context, due: DueNotification, signal: AbortSignal): Promise<void> {
  const { db, receivers, config, meter, clock, logger } = context;
  const receiver = receivers.find(({ id }) => id === due.receiver);
  const incident = await db.incidents.find(due.incidentId);
  // The config may have lost who it was for.
  if (receiver === undefined || incident === null) return db.notifications.giveUp(due.id, clock.now());
  // It closed since this was recorded; the last message says all that is still true.
  if (due.event !== 'closed' && incident.closedAt !== null) return db.notifications.discard(due.id);
  const { kind, field } = receiver;
  const problem = await receiver.send(messageOf(incident, due.event, config.alerts.console_base_url), signal);
  const now = clock.now();
  const told = { receiver: field, event: due.event, pipeline: incident.pipeline };
  if (problem === null) {
    await db.notifications.sent(due.id, causeTold(incident), now);
    meter.increment('recalld_notifications_total', { kind, outcome: 'sent' });
    logger.info('told of an incident', told);
    return;
  }
  const next = nextAttempt(due.dueAt, due.attempts, now);
  meter.increment('recalld_notifications_total', { kind, outcome: next === null ? 'given_up' : 'failed' });
  if (next === null) {
    logger.error('nobody could be told of an incident for an hour', { ...told, reason: problem });
    return db.notifications.giveUp(due.id, now);
  }
  logger.warn('could not tell of an incident', { ...told, reason: problem, next_attempt: next.toISOString() });
  return db.notifications.retryAt(due.id, next);
}

function causeTold({ confirmedAt, cause }: Incident): Incident['cause'] | null {
  return confirmedAt === null ? null : cause;
}

/** One that is to be sent now. */
export interface DueNotification {
  readonly id: string;
  readonly incidentId: string;
  readonly receiver: string;
  readonly event: NotificationEvent;
  readonly dueAt: Date;
  /** This one included. */
  readonly attempts: number;
}

export interface KnownNotification extends Notified {
  readonly incidentId: string;
  readonly receiver: string;
}

export type Notifications = ReturnType<typeof createNotifications>;

/** An incident that somebody may have to hear of. */
export interface KnownIncident extends IncidentToTell {
  readonly id: string;
}

/** Who has taken a message and dies is followed by another after so long. */
const LEASE = '1 minute';

export function createNotifications(pool: Pool) {
  return {
    /** Incidents that are open or have just closed, and those whose end a receiver of their beginning has not been told. */
    async incidents(at: Date): Promise<readonly KnownIncident[]> {
      return queryRows<KnownIncident>(
        pool,
        `select i.id, i.severity, i.opened_at, i.closed_at, i.confirmed_at,
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
      );
    },

    /** About some incidents, oldest first. */
    async about(incidents: readonly string[]): Promise<readonly KnownNotification[]> {
      return queryRows<KnownNotification>(
        pool,
        `select incident_id, receiver, event, cause, sent_at, given_up_at
           from notifications where incident_id = any($1::bigint[]) order by id`,
        [incidents],
      );
    },

    /** Puts a message down; once, however many replicas see that it is due. */
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

    /** Drops what was to be sent now about a fault that is over: only the message that says so is still true. */
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

    /** Those that are to be sent now; to one receiver in their order, and none behind a beginning that was given up. */
    async take(at: Date): Promise<readonly DueNotification[]> {
      return queryRows<DueNotification>(
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
      );
    },

    /** @param cause that was told; null for none */
    async sent(id: string, cause: Cause | null, at: Date): Promise<void> {
      await pool.query('update notifications set sent_at = $2::timestamptz, cause = $3::text where id = $1::bigint', [
        id,
        at,
        cause,
      ]);
    },

    async retryAt(id: string, at: Date): Promise<void> {
      await pool.query('update notifications set next_attempt_at = $2::timestamptz where id = $1::bigint', [id, at]);
    },

    async giveUp(id: string, at: Date): Promise<void> {
      await pool.query('update notifications set given_up_at = $2::timestamptz where id = $1::bigint', [id, at]);
    },
  };
}
