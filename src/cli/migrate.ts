import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { type CommandSettings, commandSettings } from '../app/commands/command-store.ts';
import { migrateStorage, queueBackend } from '../app/database.ts';
import { createCleanupStack } from '../core/cleanup-stack.ts';
import { grantRights, type MigrationReport } from '../platform/postgres/migrate.ts';
import { openJobQueue } from '../platform/queue/bullmq.ts';
import { type ConfiguredOptions, printJson, printLine, withConfig } from './output.ts';

export function migrateCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld migrate --config recalld.yaml\n  recalld migrate --grant --config migrate.yaml')
    .option('--grant', 'also grant the daemon role recalld_app its privileges (docs/how-to/security.md)', false)
    .action(async ({ config, json, grant }: ConfiguredOptions & { readonly grant: boolean }) => {
      const report = await migrateDatabase(commandSettings(config, signal), grant);
      if (json === true) printJson(report);
      else if (report.applied.length === 0) printLine(`The database schema is up to date (version ${report.version}).`);
      else printLine(`Applied ${report.applied.join(', ')}; the database now has schema version ${report.version}.`);
    });
}

/**
 * Migrates the database, and the schema of the job queue if it is in the same database. The daemon's role may lack the
 * privileges for both migrations.
 *
 * @throws RecalldError queue_unreachable, and the errors of migrateStorage and grantRights
 */
async function migrateDatabase(settings: CommandSettings, grants: boolean): Promise<MigrationReport> {
  const { config, logger } = settings;
  const cleanups = createCleanupStack(logger);
  try {
    const { storage, report } = await migrateStorage({
      ...settings,
      purpose: 'command',
      name: 'recalld migrate',
      cleanups,
    });
    if (config.queue.backend === 'postgres') {
      const queue = await openJobQueue({ backend: queueBackend(config, storage), jobs: [], logger });
      await queue.close();
    }
    if (grants) await grantRights(storage.pool);
    return report;
  } finally {
    await cleanups.run();
  }
}
