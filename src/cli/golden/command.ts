/** `recalld golden`: golden sets from their making to their runs. */
import { Command } from 'commander';
import { cancelCommand } from './cancel.ts';
import { checkCommand } from './check.ts';
import { exportCommand } from './export.ts';
import { generateCommand } from './generate.ts';
import { importCommand } from './import.ts';
import { listCommand } from './list.ts';
import { promoteCommand } from './promote.ts';
import { runCommand } from './run.ts';
import { showCommand } from './show.ts';

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
