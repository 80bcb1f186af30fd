/** `recalld completion`: what a shell needs to complete commands and options, made from the commands themselves. */
import { Argument, Command } from 'commander';
import { completionScript, type Shell, shells } from './completion-script.ts';
import { printLine } from './output.ts';

/** @param loadProgram the program with every command */
export function completionCommand(loadProgram: () => Promise<Command>): Command {
  return new Command('completion')
    .description('Print the completion of commands and options for a shell.')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  source <(recalld completion bash)
  recalld completion zsh > "\${fpath[1]}/_recalld"
  recalld completion fish > ~/.config/fish/completions/recalld.fish`,
    )
    .action(async (shell: Shell) => printLine(completionScript(await loadProgram(), shell)));
}
