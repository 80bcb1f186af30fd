#!/usr/bin/env node
/** The command line as a process: its arguments, its signals and its exit code. */
import { RecalldError } from '../core/errors.ts';
import { interruptSignal, reportError } from './exit.ts';
import { createProgram } from './program.ts';

// A reader that goes away, as `| head` does, is not an error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

try {
  const program = await createProgram(process.argv.slice(2), interruptSignal());
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error);
  // What did not end in order would keep the process.
  if (error instanceof RecalldError && error.code === 'stop_overdue') process.exit();
}
