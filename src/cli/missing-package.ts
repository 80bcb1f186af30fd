import { readFileSync } from 'node:fs';
import { RecalldError } from '../errors.ts';

/** What each package that may be left out is for. */
const purposes: Readonly<Record<string, string>> = {
  '@electric-sql/pglite': 'the vector store of the demo',
  '@electric-sql/pglite-pgvector': 'the vector store of the demo',
  '@electric-sql/pglite-socket': 'the vector store of the demo',
  '@grafana/grafana-foundation-sdk': 'Grafana dashboards',
};

/** What to tell when a package was left out by `npm install --omit=optional`; null for any other error. */
export function missingPackage(error: unknown): RecalldError | null {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return null;
  const name = Object.keys(purposes).find((known) => error.message.includes(`'${known}'`));
  return name === undefined ? null : notInstalled(name, error);
}

/** @throws RecalldError `package_missing` if the demo's packages were left out of the installation */
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
