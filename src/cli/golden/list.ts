import type { Command } from 'commander';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { goldenSetVersionJson } from '../../golden/schema/golden-set.ts';
import { type ConfiguredOptions, configuredCommand } from '../configured-command.ts';
import { formatTable, printJson, printLine } from '../output.ts';

export function listCommand(signal: AbortSignal): Command {
  return configuredCommand('list', 'List every version of every golden set.', 'recalld golden list').action(
    (options: ConfiguredOptions) => list(commandSettings(options.config, signal), options),
  );
}

async function list(settings: CommandSettings, options: ConfiguredOptions): Promise<void> {
  const versions = await withCommandStore(settings, ({ sets }) => sets.list());
  if (options.json === true) printJson(versions.map(goldenSetVersionJson));
  else if (versions.length === 0)
    printLine('No golden set has been imported yet; `recalld golden import PATH --set NAME` does it.');
  else {
    const rows = versions.map((v) => [
      v.name,
      v.format,
      v.importedAt.toISOString(),
      `${v.version}`,
      `${v.queries}`,
      `${v.judgments}`,
    ]);
    printLine(formatTable(['set', 'format', 'imported', 'version', 'queries', 'judgments'], rows, 3));
  }
}
