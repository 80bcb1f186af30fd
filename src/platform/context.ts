/** The tables and services that the platform adds to the context. */
import type { Pool } from 'pg';
import { createAuditLog } from './access/audit-log.ts';
import { createApiKeys, createConsoleSessions } from './access/credentials.ts';
import type { Meter } from './metrics/meter.ts';
import type { OtlpEndpoint } from './metrics/otlp.ts';
import type { JobQueue } from './queue/job-queue.ts';
import type { LagHistory } from './threads/lag-history.ts';

export function platformTables(pool: Pool) {
  return { keys: createApiKeys(pool), sessions: createConsoleSessions(pool), auditLog: createAuditLog(pool) };
}

declare module '../core/context.ts' {
  interface Db {
    readonly platform: ReturnType<typeof platformTables>;
  }
  interface Context {
    readonly meter: Meter;
    readonly queue: JobQueue;
    /** Receiver of metrics and events; null without one. */
    readonly otlp: OtlpEndpoint | null;
    /** Delays of the event loop of this process; null for a command, which reads what other processes measured. */
    readonly ownLag: LagHistory | null;
    /** Name of this process among those that share the database. */
    readonly holder: string;
    /** Key of the hashes that replace user ids. */
    readonly hashKey: string;
  }
}
