import { type Command, type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { type Role, roles, serve } from '../app/serve.ts';

export function serveCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return command
    .option('--config <file>', 'config file (default: recalld.yaml if it exists)')
    .addOption(
      new Option('--roles <list>', 'comma-separated roles for this process: api, worker, scheduler')
        .argParser(parseRoles)
        .default(roles, 'all'),
    )
    .addHelpText('after', '\nExample:\n  recalld serve --config recalld.yaml')
    .action(async (options: { config?: string; roles: readonly Role[] }) =>
      serve(options.config, options.roles, signal),
    );
}

function parseRoles(text: string): readonly Role[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(roles as readonly string[]).includes(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not a role; use ${roles.join(', ')}.`);
  return names as Role[];
}
