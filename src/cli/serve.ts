/** `recalld serve`: the daemon. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Role, roles, serve } from '../app/serve.ts';

export function serveCommand(command: Command, signal: AbortSignal): Command {
  return command
    .option('--config <file>', 'config file (default: recalld.yaml when there is one)')
    .addOption(
      new Option('--roles <list>', 'what this process does: api, worker, scheduler')
        .argParser(parseRoles)
        .default(roles, 'all of them'),
    )
    .addHelpText('after', '\nExample:\n  recalld serve --config recalld.yaml')
    .action(async (options: { config?: string; roles: readonly Role[] }) =>
      serve(options.config, options.roles, signal),
    );
}

function parseRoles(text: string): readonly Role[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(roles as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is no role; the roles are ${roles.join(', ')}.`);
  return names as Role[];
}
