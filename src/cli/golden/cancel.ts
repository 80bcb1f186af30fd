/** `recalld golden cancel`: ends a running run, wherever it runs. */
import type { Command } from 'commander';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { withCommandStore } from '../../app/commands/command-store.ts';
import { cancelRunNow } from '../../app/commands/golden-run.ts';
import { type ConfiguredOptions, configuredCommand } from '../configured-command.ts';
import { printJson, printLine } from '../output.ts';

export function cancelCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'cancel',
    'End a running golden run as cancelled; whoever works on it stops within seconds.',
    'recalld golden cancel 20261120T154500Z-3f9a1c2b',
  )
    .argument('<id>', 'id of the run')
    .action(async (id: string, options: ConfiguredOptions) => {
      const run = await withCommandStore(commandSettings(options.config, signal), (store) =>
        cancelRunNow(store, id),
      );
      if (options.json === true) printJson({ run_id: run.id, status: run.status });
      else printLine(`Run ${run.id} is cancelled.`);
    });
}
