/** The one place where errors become sentences and exit codes. */
import { CommanderError } from 'commander';
import { RecalldError } from '../errors.ts';
import { EXIT_BUG, exitCodeOfKind } from './exit-code.ts';
import { missingPackage } from './missing-package.ts';

/** Prints what went wrong, if anything did, and tells the exit code. */
export function reportError(thrown: unknown): number {
  const error = missingPackage(thrown) ?? thrown;
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodeOfKind.input;
  if (error instanceof RecalldError) {
    if (error.kind !== 'interrupted') process.stderr.write(`recalld: ${error.message}\n`);
    return exitCodeOfKind[error.kind];
  }
  const detail =
    error instanceof Error ? (process.env['RECALLD_DEBUG'] === undefined ? error.message : error.stack) : String(error);
  process.stderr.write(`recalld: this is a bug of recalld, please report it: ${detail} (RECALLD_DEBUG=1 shows more)\n`);
  return EXIT_BUG;
}
