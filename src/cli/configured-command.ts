import { Command } from 'commander';

/** Options of every command that works on a config. */
export interface ConfiguredOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** A command with `--config`, `--json` and an example in its help. */
export function configuredCommand(name: string, description: string, example: string): Command {
  return new Command(name)
    .description(description)
    .option('--config <file>', 'config file (default: recalld.yaml when there is one)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', `\nExample:\n  ${example}`);
}
