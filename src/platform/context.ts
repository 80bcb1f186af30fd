/** What the platform adds to the context. */
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
    /** Where metrics and events are sent; null: nowhere. */
    readonly otlp: OtlpEndpoint | null;
    /** How late the event loop of this process was; null for a command, which did not measure what it reads. */
    readonly ownLag: LagHistory | null;
    /** Names this process among those that share the database. */
    readonly holder: string;
    /** Key of the hashes that stand for people. */
    readonly hashKey: string;
  }
}
