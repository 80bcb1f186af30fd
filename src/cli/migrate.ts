/** `recalld migrate`: the database schema. */
import type { Command } from 'commander';
import { commandSettings } from '../app/commands/command-settings.ts';
import { migrateDatabase } from '../app/commands/migrate-database.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { printJson, printLine } from './output.ts';

export function migrateCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'migrate',
    'Bring the database to the schema of this version. The embedded one does it at each start.',
    'recalld migrate --config recalld.yaml\n  recalld migrate --grant --config migrate.yaml',
  )
    .option('--grant', 'then give recalld_app, as whom the daemon runs, its rights (docs/security.md)', false)
    .action(async ({ config, json, grant }: ConfiguredOptions & { readonly grant: boolean }) => {
      const report = await migrateDatabase(commandSettings(config, signal), grant);
      if (json === true) printJson(report);
      else if (report.applied.length === 0)
        printLine(`The database is at version ${report.version}; nothing to do.`);
      else printLine(`Applied ${report.applied.join(', ')}; the database is at version ${report.version}.`);
    });
}
