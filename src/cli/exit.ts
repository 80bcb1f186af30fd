/** Exit codes, error output and signals. The first signal stops the program cleanly; the second ends it immediately. */

import { readFileSync } from 'node:fs';
import { CommanderError } from '@commander-js/extra-typings';
import { type ErrorKind, RecalldError } from '../core/errors.ts';
import { visibleText } from '../core/text/visible-text.ts';

export const EXIT_OK = 0;
/** A check failed or a regression was found. */
export const EXIT_CHECK_FAILED = 1;
/** A bug in recalld; this code differs from the documented codes. */
export const EXIT_BUG = 70;

export const exitCodeOfKind: Record<ErrorKind, number> = {
  input: 2,
  not_found: 2,
  conflict: 2,
  unauthorized: 2,
  forbidden: 2,
  too_large: 2,
  too_many: 3,
  unreachable: 3,
  interrupted: 130,
};

const purposes: Readonly<Record<string, string>> = {
  '@electric-sql/pglite': "the demo's vector store",
  '@electric-sql/pglite-pgvector': "the demo's vector store",
  '@electric-sql/pglite-prepopulatedfs': "the demo's vector store",
  '@electric-sql/pglite-socket': "the demo's vector store",
  '@grafana/grafana-foundation-sdk': 'Grafana dashboards',
};

/** Returns the error for a package that `npm install --omit=optional` did not install; null for any other error. */
export function missingPackage(error: unknown): RecalldError | null {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return null;
  const name = Object.keys(purposes).find((known) => error.message.includes(`'${known}'`));
  return name === undefined ? null : notInstalled(name, error);
}

/** @throws RecalldError `package_missing` if a demo package is not installed */
export function requireDemoPackages(): void {
  for (const name of Object.keys(purposes).filter((known) => known.startsWith('@electric-sql/'))) {
    try {
      readFileSync(new URL(import.meta.resolve(name)));
    } catch (cause) {
      throw notInstalled(name, cause);
    }
  }
}

function notInstalled(name: string, cause: unknown): RecalldError {
  const message =
    `The npm package ${name} (${purposes[name]}) is not installed: run "npm install --include=optional" where` +
    ' recalld is installed.';
  return new RecalldError('package_missing', message, { cause });
}

/** Prints an error and returns the exit code. */
export function reportError(thrown: unknown): number {
  const error = missingPackage(thrown) ?? thrown;
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodeOfKind.input;
  if (error instanceof RecalldError) {
    if (error.kind !== 'interrupted') process.stderr.write(`recalld: ${visibleText(error.message)}\n`);
    return exitCodeOfKind[error.kind];
  }
  const detail =
    error instanceof Error ? (process.env['RECALLD_DEBUG'] === undefined ? error.message : error.stack) : String(error);
  const shown = visibleText(String(detail));
  process.stderr.write(`recalld: this is a bug in recalld; please report it: ${shown} (RECALLD_DEBUG=1 shows more)\n`);
  return EXIT_BUG;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Returns an AbortSignal that aborts on SIGINT, SIGTERM or SIGHUP. The second of these signals ends the process at
 * once, which is safe because child processes notice when this process ends.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of signals) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(exitCodeOfKind.interrupted);
      controller.abort(new RecalldError('interrupted', `Stopped by ${name}.`));
    });
  }
  return controller.signal;
}

/**
 * Returns a signal that aborts when the parent process has ended. Use this signal only for interactive programs: a
 * daemon must outlive its shell.
 */
export function parentGone(): AbortSignal {
  const controller = new AbortController();
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    controller.abort(new RecalldError('interrupted', 'Stopped because its parent process has ended.'));
  }, 1000);
  watch.unref();
  return controller.signal;
}
