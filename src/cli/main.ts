#!/usr/bin/env node
/** The command line: dispatch, and the one place where errors become sentences and exit codes. */
import { Command, CommanderError } from 'commander';
import { version } from '../app/version.ts';
import { RecalldError } from '../core/errors.ts';
import { configCommand } from './config.ts';
import { demoCommand } from './demo.ts';
import { evalCommand } from './eval.ts';
import { EXIT_BUG, exitCodeOfKind } from './exit-code.ts';
import { goldenCommand } from './golden.ts';
import { interruptSignal } from './interrupt.ts';
import { migrateCommand } from './migrate.ts';
import { runsCommand } from './runs.ts';
import { serveCommand } from './serve.ts';

function createProgram(signal: AbortSignal): Command {
  const program = new Command('recalld')
    .description('Watches the retrieval quality of production RAG.')
    .version(version)
    .showHelpAfterError('(add --help for how to use it)')
    .addHelpText('after', '\nExit codes: 0 ok, 1 a check failed, 2 bad usage, config or input, 3 a service could not be reached, 130 interrupted.');
  const commands = [
    demoCommand(signal),
    serveCommand(signal),
    migrateCommand(signal),
    configCommand(),
    goldenCommand(signal),
    runsCommand(signal),
    evalCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  exitNowhere(program);
  return program;
}

/** Commander would end the process itself; it shall throw, so that exit codes are decided in one place. */
function exitNowhere(command: Command): void {
  command.exitOverride();
  for (const child of command.commands) exitNowhere(child);
}

/** Prints what went wrong, if anything did, and tells the exit code. */
function conclude(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodeOfKind.input;
  if (error instanceof RecalldError) {
    if (error.kind !== 'interrupted') process.stderr.write(`recalld: ${error.message}\n`);
    return exitCodeOfKind[error.kind];
  }
  const detail = error instanceof Error ? (process.env['RECALLD_DEBUG'] === undefined ? error.message : error.stack) : String(error);
  process.stderr.write(`recalld: this is a bug of recalld, please report it: ${detail} (RECALLD_DEBUG=1 shows more)\n`);
  return EXIT_BUG;
}

// A reader that goes away, as `| head` does, is not an error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

try {
  await createProgram(interruptSignal()).parseAsync();
} catch (error) {
  process.exitCode = conclude(error);
}
