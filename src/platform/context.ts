/** Tables and services that the platform adds to the context. */

import type { Pool } from 'pg';
import type { Scope } from '../core/context.ts';
import { createAuditLog } from './access/audit-log.ts';
import { createApiKeys, createConsoleSessions } from './access/credentials.ts';
import type { Meter } from './metrics/meter.ts';
import type { OtlpEndpoint } from './metrics/otlp.ts';
import type { JobQueue } from './queue/job-queue.ts';
import type { LagHistory } from './threads/lag-history.ts';

export function platformTables(pool: Pool, scope: Scope) {
  return { keys: createApiKeys(pool), sessions: createConsoleSessions(pool), auditLog: createAuditLog(pool, scope) };
}

declare module '../core/context.ts' {
  interface Db {
    readonly platform: ReturnType<typeof platformTables>;
  }
  interface Context {
    readonly meter: Meter;
    readonly queue: JobQueue;
    /** Endpoint that receives metrics and events; null if none is configured. */
    readonly otlp: OtlpEndpoint | null;
    /** Event loop delays of this process; null for a command, which uses latencies that other processes measured. */
    readonly ownLag: LagHistory | null;
    /** Name of this process, unique among all processes that share the database. */
    readonly holder: string;
    /** Key for hashing user ids. */
    readonly hashKey: string;
  }
}
