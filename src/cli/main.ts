#!/usr/bin/env node
/** The command line: dispatch, and the one place where errors become sentences and exit codes. */
import { CommanderError } from 'commander';
import { RecalldError } from '../errors.ts';
import { EXIT_BUG, exitCodeOfKind } from './exit-code.ts';
import { interruptSignal } from './interrupt.ts';
import { missingPackage } from './missing-package.ts';
import { createProgram } from './program.ts';

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
  process.exitCode = conclude(missingPackage(error) ?? error);
  // What did not end in order would keep the process.
  if (error instanceof RecalldError && error.code === 'stop_overdue') process.exit();
}
