/** Writes the generated pages; with --check it only compares, and fails with a sentence for each that is out of date. */
import path from 'node:path';
import { configPage } from './config-page.ts';
import { errorsPage } from './errors-page.ts';
import { jobsPage } from './jobs-page.ts';
import { metricsPage } from './metrics-page.ts';
import { stalePages, writePages } from './page.ts';

const root = path.resolve(import.meta.dirname, '../..');
const pages = [metricsPage(), configPage(), errorsPage(), jobsPage()];

if (process.argv.includes('--check')) {
  const stale = stalePages(root, pages);
  for (const sentence of stale) process.stderr.write(`${sentence}\n`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  writePages(root, pages);
}
