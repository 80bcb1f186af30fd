/** Fails with one sentence unless CHANGELOG.md describes the version in package.json. `npm publish` runs this check. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { changelogProblem } from './changelog.ts';

const root = path.resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
const problem = changelogProblem(readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8'), version);
if (problem !== null) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
