/** What people did, and what it changed: written in the transaction that does it, so that neither is without the other. */
import { hostname, userInfo } from 'node:os';
import type { FastifyRequest } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import { namingOutage } from '../postgres/outage.ts';
import { insertRows, queryRows } from '../postgres/rows.ts';

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
  'judge',
  'erase',
  'create_key',
  'revoke_key',
] as const;

export interface Act {
  readonly at: Date;
  /** Who did it: `keyHolder`, `consoleVisitor` or `commandUser`. */
  readonly by: string;
  readonly act: (typeof acts)[number];
  /** Null for what is of no pipeline. */
  readonly pipeline: string | null;
  /** What it was done to. Never the id of a user or of a live query, which erasures must reach. */
  readonly subject: string;
  /** Null for what was not there. */
  readonly before: Readonly<Record<string, unknown>> | null;
  /** Null for what is no longer there. */
  readonly after: Readonly<Record<string, unknown>> | null;
}

export interface RecordedAct extends Act {
  /** Counts up. */
  readonly id: string;
}

/** Writes acts in the transaction of `client`. */
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

export type AuditLog = ReturnType<typeof createAuditLog>;

export interface AuditFilter {
  readonly pipeline?: string | undefined;
  readonly since?: Date | undefined;
  /** Only what came before this one. */
  readonly beforeId?: string | undefined;
  readonly limit: number;
}

export function createAuditLog(pool: Pool) {
  return {
    /** Newest first. */
    async list({ pipeline, since, beforeId, limit }: AuditFilter): Promise<readonly RecordedAct[]> {
      return queryRows<RecordedAct>(
        pool,
        `select id::text, at, by, act, pipeline, subject, before, after from audit_log
          where ($1::text is null or pipeline = $1::text) and ($2::timestamptz is null or at >= $2::timestamptz)
            and ($3::bigint is null or id < $3::bigint)
          order by id desc limit $4::integer`,
        [pipeline ?? null, since ?? null, beforeId ?? null, limit],
      );
    },

    /** Drops what is older. */
    prune: (before: Date): Promise<void> =>
      namingOutage(
        pool,
        async () => void (await pool.query('delete from audit_log where at < $1::timestamptz', [before])),
      ),
  };
}

/** Who calls the API. */
export function keyHolder({ apiKey }: FastifyRequest): string {
  return apiKey === null || apiKey === 'unknown' ? LOCAL : `key ${apiKey.name} (${apiKey.id})`;
}

/** Who sends a form on a page. */
export function consoleVisitor({ visitor }: FastifyRequest): string {
  return visitor?.key == null ? LOCAL : `key ${visitor.key.name} (${visitor.key.id}), console`;
}

/**
 * The person that a grade is bound to: the key of the call or of the sign-in, by its id, since names of keys may be
 * alike. Nothing that a caller says of themselves changes it.
 */
export function personOf({ apiKey, visitor }: Pick<FastifyRequest, 'apiKey' | 'visitor'>): string {
  const id = visitor?.key?.id ?? (apiKey === null || apiKey === 'unknown' ? null : apiKey?.id);
  return id == null ? LOCAL : `key ${id}`;
}

/** A daemon on loopback whose database is its own asks nobody who they are. */
const LOCAL = 'somebody on this machine';

/** Who runs this command, as the system knows them. */
export function commandUser(): string {
  return `${userName()}@${hostname()}, command`;
}

/** The person that grades of a command are bound to; without the host, whose name differs from container to container. */
export function commandPerson(): string {
  return `user ${userName()}`;
}

/** A container may run as a number that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'a user without a name';
  }
}
