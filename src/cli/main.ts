#!/usr/bin/env node
import { RecalldError } from '../core/errors.ts';
import { interruptSignal, reportError } from './exit.ts';
import { createProgram } from './program.ts';

// A reader that closes the pipe, such as `| head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

try {
  const program = await createProgram(process.argv.slice(2), interruptSignal());
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error);
  // Work that is still running would keep the process alive.
  if (error instanceof RecalldError && error.code === 'stop_overdue') process.exit();
}
