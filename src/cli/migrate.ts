/** `recalld migrate`: the database schema. */
import { Command } from 'commander';
import { commandSettings } from '../app/command-settings.ts';
import { migrateDatabase } from '../app/migrate-database.ts';
import { printJson, printLine } from './output.ts';

export function migrateCommand(signal: AbortSignal): Command {
  return new Command('migrate')
    .description('Bring the database to the schema of this version. The embedded one does it at each start.')
    .option('--config <file>', 'config file (default: recalld.yaml when there is one)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  recalld migrate --config recalld.yaml')
    .action(async (options: { config?: string; json?: boolean }) => {
      const report = await migrateDatabase(commandSettings(options.config, signal));
      if (options.json === true) printJson(report);
      else if (report.applied.length === 0)
        printLine(`The database is at version ${report.version}; nothing to do.`);
      else printLine(`Applied ${report.applied.join(', ')}; the database is at version ${report.version}.`);
    });
}
