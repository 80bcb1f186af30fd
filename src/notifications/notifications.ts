/** Messages that are due, in PostgreSQL, so that none is lost with the process that was about to send it. */
import type { Pool } from 'pg';
import type { Cause } from '../diagnosis/rules/cause.ts';
import { type IncidentToTell, JUST_CLOSED_MS, type NotificationEvent, type Notified } from './rules/due.ts';

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
      const { rows } = await pool.query<KnownIncident>(
        `select i.id, i.severity, i.closed_at as "closedAt", i.settled_at as "settledAt",
                (select cause from diagnoses d where d.incident_id = i.id order by d.id desc limit 1) as cause
           from incidents i
          where i.closed_at is null or i.closed_at > $1::timestamptz
             or exists (select 1 from notifications o
                         where o.incident_id = i.id and o.event = 'opened' and o.given_up_at is null
                           and not exists (select 1 from notifications c
                                            where c.incident_id = i.id and c.receiver = o.receiver
                                              and c.event = 'closed'))
          order by i.id`,
        [new Date(at.getTime() - JUST_CLOSED_MS)],
      );
      return rows;
    },

    /** About some incidents, oldest first. */
    async about(incidents: readonly string[]): Promise<readonly KnownNotification[]> {
      const { rows } = await pool.query<KnownNotification>(
        `select incident_id as "incidentId", receiver, event, cause, sent_at as "sentAt", given_up_at as "givenUpAt"
           from notifications where incident_id = any($1::bigint[]) order by id`,
        [incidents],
      );
      return rows;
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

    /** Those that are to be sent now; to one receiver in their order, and none behind a beginning that was given up. */
    async take(at: Date): Promise<readonly DueNotification[]> {
      const { rows } = await pool.query<DueNotification>(
        `update notifications set attempts = attempts + 1, next_attempt_at = $1::timestamptz + interval '${LEASE}'
          where id in (select id from notifications n
                        where sent_at is null and given_up_at is null and next_attempt_at <= $1::timestamptz
                          and not exists (select 1 from notifications e
                                           where e.incident_id = n.incident_id and e.receiver = n.receiver
                                             and e.id < n.id and e.sent_at is null
                                             and (e.given_up_at is null or e.event = 'opened'))
                        order by id limit 20 for update skip locked)
         returning id, incident_id as "incidentId", receiver, event, due_at as "dueAt", attempts`,
        [at],
      );
      return rows;
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
