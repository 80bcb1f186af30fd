#!/usr/bin/env node
/** The command line: dispatch, and the one place where errors become sentences and exit codes. */
import { Command, CommanderError } from 'commander';
import { version } from '../app/version.ts';
import { RecalldError } from '../core/errors.ts';
import { EXIT_BUG, exitCodeOfKind } from './exit-code.ts';
import { interruptSignal } from './interrupt.ts';

type CommandFactory = (signal: AbortSignal) => Command;

/** Each command is loaded when it is called, so that `eval` does not wait for the database driver of `serve`. */
const commands: Readonly<Record<string, () => Promise<CommandFactory>>> = {
  demo: async () => (await import('./demo.ts')).demoCommand,
  serve: async () => (await import('./serve.ts')).serveCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  config: async () => (await import('./config.ts')).configCommand,
  golden: async () => (await import('./golden.ts')).goldenCommand,
  keys: async () => (await import('./keys.ts')).keysCommand,
  runs: async () => (await import('./runs.ts')).runsCommand,
  eval: async () => {
    const { evalCommand } = await import('./eval.ts');
    return () => evalCommand();
  },
};

async function createProgram(called: string | undefined, signal: AbortSignal): Promise<Command> {
  const program = new Command('recalld')
    .description('Watches the retrieval quality of production RAG.')
    .version(version)
    .showHelpAfterError('(add --help for how to use it)')
    .addHelpText(
      'after',
      '\nExit codes: 0 ok, 1 a check failed, 2 bad usage, config or input, 3 a service could not be reached, 130 interrupted.',
    );
  const factories = await Promise.all(loadersFor(called).map((load) => load()));
  for (const create of factories) program.addCommand(create(signal));
  exitNowhere(program);
  return program;
}

/** The one that is called; help and a misspelt name need to know them all. */
function loadersFor(called: string | undefined): (() => Promise<CommandFactory>)[] {
  if (called === '--version' || called === '-V') return [];
  const load = called !== undefined && Object.hasOwn(commands, called) ? commands[called] : undefined;
  return load === undefined ? Object.values(commands) : [load];
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
  const detail =
    error instanceof Error
      ? process.env['RECALLD_DEBUG'] === undefined
        ? error.message
        : error.stack
      : String(error);
  process.stderr.write(
    `recalld: this is a bug of recalld, please report it: ${detail} (RECALLD_DEBUG=1 shows more)\n`,
  );
  return EXIT_BUG;
}

// A reader that goes away, as `| head` does, is not an error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

try {
  const program = await createProgram(process.argv[2], interruptSignal());
  await program.parseAsync();
} catch (error) {
  process.exitCode = conclude(error);
}
