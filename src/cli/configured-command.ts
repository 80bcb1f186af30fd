/** What the options of commands have in common. */
import { Command, InvalidArgumentError } from 'commander';

/** Options of every command that works on a config. */
export interface ConfiguredOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** A command of a group, with `--config`, `--json` and an example in its help. */
export function configuredCommand(name: string, description: string, example: string): Command {
  return withConfig(new Command(name).description(description), example);
}

/** Adds `--config`, `--json` and an example to the help of a command. */
export function withConfig(command: Command, example: string): Command {
  return command
    .option('--config <file>', 'config file (default: recalld.yaml when there is one)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', `\nExample:\n  ${example}`);
}

/** How many rows a command shall list. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 10_000) return count;
  throw new InvalidArgumentError('It must be a whole number from 1 to 10000.');
}

/** @throws InvalidArgumentError */
export function parseTime(text: string): Date {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(`"${text}" is no time; write it like 2026-11-20T15:45:00Z.`);
}
