/**
 * The audit log: records each change and who made it. Each entry is written in the transaction of its change, so either
 * both are stored or neither is.
 */

import { hostname, userInfo } from 'node:os';
import type { FastifyRequest } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import type { Scope } from '../../core/context.ts';
import { namingOutage } from '../postgres/outage.ts';
import { insertRows, queryRows } from '../postgres/rows.ts';
import { visible } from '../postgres/visible.ts';
import { addressOf } from './address.ts';
import { type Caller, validKeyOf } from './pipeline-access.ts';

export const acts = [
  'import_golden_set',
  'accept_labels',
  'start_run',
  'cancel_run',
  'pin_baseline',
  'unpin_baseline',
  'rebaseline',
  'change_topic',
  'add_deployment',
  'add_note',
  'acknowledge_incident',
  'mark_cause',
  'add_silence',
  'end_silence',
  'judge',
  'erase',
  'create_key',
  'revoke_key',
] as const;

export interface Act {
  readonly at: Date;
  /** Author and origin of the change, as returned by `keyHolder`, `consoleVisitor` or `commandUser`. */
  readonly by: string;
  readonly act: (typeof acts)[number];
  /** Changed pipeline; null if the change affects none. */
  readonly pipeline: string | null;
  /** The changed object. Never contains a user id or a live query id, because erasure must remove those ids. */
  readonly subject: string;
  /** State before the change; null if the change created the object. */
  readonly before: Readonly<Record<string, unknown>> | null;
  /** State after the change; null if the change deleted the object. */
  readonly after: Readonly<Record<string, unknown>> | null;
}

export interface RecordedAct extends Act {
  /** Sequence number of the entry. */
  readonly id: string;
}

/** Writes audit entries in the transaction of `client`. */
export async function recordActs(client: PoolClient, acts: readonly Act[]): Promise<void> {
  const columns = {
    at: 'timestamptz',
    by: 'text',
    act: 'text',
    pipeline: 'text',
    subject: 'text',
    before: 'jsonb',
    after: 'jsonb',
  } as const;
  await insertRows(client, 'audit_log', columns, acts);
}

export interface AuditFilter {
  readonly pipeline?: string | undefined;
  readonly since?: Date | undefined;
  /** Id of an entry; only older entries are returned. */
  readonly beforeId?: string | undefined;
  readonly limit: number;
}

export function createAuditLog(pool: Pool, scope: Scope = null) {
  return {
    /**
     * Returns entries, newest first. Entries about golden sets name no pipeline, but a caller that is limited to
     * certain pipelines gets those entries if only these pipelines use the golden set.
     */
    async list({ pipeline, since, beforeId, limit }: AuditFilter): Promise<readonly RecordedAct[]> {
      return queryRows<RecordedAct>(
        pool,
        `select id::text, at, by, act, pipeline, subject, before, after from audit_log
          where ($1::text is null or pipeline = $1::text) and ($2::timestamptz is null or at >= $2::timestamptz)
            and ($3::bigint is null or id < $3::bigint)
            and (${visible('pipeline', 5)} or (act in ('import_golden_set', 'accept_labels') and subject = any($6::text[])))
          order by id desc limit $4::integer`,
        [
          pipeline ?? null,
          since ?? null,
          beforeId ?? null,
          limit,
          scope?.pipelines ?? null,
          scope?.ownGoldenSets ?? [],
        ],
      );
    },

    prune: (before: Date): Promise<void> =>
      namingOutage(
        pool,
        async () => void (await pool.query('delete from audit_log where at < $1::timestamptz', [before])),
      ),
  };
}

/** Returns the caller of the API and the caller's address, as recorded in the audit log. */
export function keyHolder(request: FastifyRequest): string {
  const key = validKeyOf(request);
  const holder = key === null ? LOCAL : `key ${key.name} (${key.id})`;
  return `${holder}, ${addressOf(request)}`;
}

/**
 * Returns the name of the signed-in user, or of the API key used for the call or the sign-in; null if keys are not
 * required.
 */
export function keyName(caller: Caller): string | null {
  return caller.visitor?.user?.name ?? caller.visitor?.key?.name ?? validKeyOf(caller)?.name ?? null;
}

/** Returns the sender of a console form and the sender's address, as recorded in the audit log. */
export function consoleVisitor(request: FastifyRequest): string {
  return `${senderOf(request)}, console, ${addressOf(request)}`;
}

function senderOf({ visitor }: FastifyRequest): string {
  if (visitor?.user != null) return `user ${visitor.user.name} (${visitor.user.id})`;
  return visitor?.key == null ? LOCAL : `key ${visitor.key.name} (${visitor.key.id})`;
}

/**
 * Returns the person to whom a judgment is attributed: the signed-in user, or the API key used for the call or the
 * sign-in. Uses the id, because names are not unique. No request field can override this person.
 */
export function personOf(caller: Caller): string {
  if (caller.visitor?.user != null) return `sign-in ${caller.visitor.user.id}`;
  const id = caller.visitor?.key?.id ?? validKeyOf(caller)?.id;
  return id === undefined ? LOCAL : `key ${id}`;
}

/** Caller without a key; only a daemon on loopback with an embedded database accepts such calls. */
const LOCAL = 'a user of this machine';

/** Returns the operating system user who runs this command. */
export function commandUser(): string {
  return `${userName()}@${hostname()}, command`;
}

/**
 * Returns the person to whom a command's judgments are attributed. Omits the host, because its name differs between
 * containers.
 */
export function commandPerson(): string {
  return `user ${userName()}`;
}

/** Returns the caller of the API as the author of a change: the shown name, and the name in the audit log. */
export function apiActor(request: FastifyRequest) {
  return { name: keyName(request), by: keyHolder(request) };
}

/** Returns the user who runs this command as the author of a change. */
export function commandActor() {
  return { name: commandPerson(), by: commandUser() };
}

/** Returns the name of the operating system user. In a container, the user id may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown user';
  }
}
