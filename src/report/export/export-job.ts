import { z } from 'zod';
import type { Context } from '../../core/context.ts';
import { defineJob } from '../../platform/queue/job-queue.ts';
import { exportTables } from './rules/export-tables.ts';
import { runExport } from './run-export.ts';

const HOUR_SECONDS = 3600;

export const exportJob = defineJob({
  name: 'export',
  does: 'Exports stored data to the folder set in `export.to`, on a schedule and after an erasure.',
  payload: z.strictObject({}),
  concurrency: 1,
  attempts: 3,
  backoffMs: 60_000,
  timeoutMs: 6 * HOUR_SECONDS * 1000,
  retainSeconds: HOUR_SECONDS,
  cron: null,
  async handle(context: Context, _payload, signal) {
    const settings = context.config.export;
    // A queued job may outlive the config that scheduled it.
    if (settings === undefined) return;
    const { to, format, tables = exportTables.map(({ name }) => name) } = settings;
    await runExport(context, { to, format, tables, range: { from: null, until: null } }, signal);
  },
});
