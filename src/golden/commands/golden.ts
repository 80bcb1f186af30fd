/** `recalld golden`: golden sets from their making to their runs. */
import { Command } from 'commander';
import { checkCommand } from './check.ts';
import { generateCommand } from './generate.ts';
import { exportCommand, importCommand } from './import-export.ts';
import { promoteCommand } from './promote.ts';
import { cancelCommand, runCommand } from './run.ts';
import { listCommand, showCommand } from './sets.ts';

export function goldenCommand(signal: AbortSignal): Command {
  const command = new Command('golden').description('Golden sets: queries with judged documents.');
  const create = [
    importCommand,
    exportCommand,
    listCommand,
    showCommand,
    checkCommand,
    promoteCommand,
    generateCommand,
    runCommand,
    cancelCommand,
  ];
  for (const one of create) command.addCommand(one(signal));
  return command;
}
