/** `recalld golden`: golden sets from their making to their runs. */
import { type Command } from 'commander';
import { probeTenantsCommand } from '../../index-truth/probe-tenants-command.ts';
import { checkCommand } from './check.ts';
import { generateCommand } from './generate.ts';
import { promoteCommand } from './promote.ts';
import { cancelCommand, runCommand } from './run.ts';
import { exportCommand, importCommand, listCommand, showCommand } from './sets.ts';

export function goldenCommand(command: Command, signal: AbortSignal): Command {
  const create = [
    importCommand,
    exportCommand,
    listCommand,
    showCommand,
    checkCommand,
    promoteCommand,
    generateCommand,
    probeTenantsCommand,
    runCommand,
    cancelCommand,
  ];
  for (const one of create) command.addCommand(one(signal));
  return command;
}
