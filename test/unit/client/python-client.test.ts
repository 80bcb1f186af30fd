/** Runs the tests of the Python client, which are written in Python. */
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { isSampled } from '../../../src/client/client.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const folder = path.join(root, 'clients/python');
const read = (...at: readonly string[]) => readFileSync(path.join(root, ...at), 'utf8');
const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;
if (!hasPython) process.stderr.write('The client for Python is not tested: there is no python3 of 3.9 or later.\n');

it.skipIf(!hasPython)('the Python client passes its own tests', async () => {
  const args = ['-B', '-W', 'error', '-m', 'unittest', 'discover', '-t', '.', '-s', 'tests'];
  const env = { ...process.env, NO_PROXY: '*' };
  const { stderr } = await promisify(execFile)('python3', args, { cwd: folder, env });
  const [, count] = /^Ran (\d+) tests in/m.exec(stderr) ?? [];
  expect(Number(count)).toBeGreaterThan(15);
  expect(stderr).toMatch(/^OK$/m);
});

it.skipIf(!hasPython)('the Python client samples the same sessions as the Node.js client', async () => {
  const keys = [
    '',
    's-1',
    'Sitzung Nº 7',
    '\u{1F50D} search',
    ...Array.from({ length: 200 }, (_, i) => `session-${i}`),
  ];
  const script =
    'import json, sys; from recalld.records import is_sampled; print(json.dumps([is_sampled(key, 0.3) for key in json.load(sys.stdin)]))';
  const ran = spawnSync('python3', ['-B', '-c', script], {
    cwd: folder,
    input: JSON.stringify(keys),
    encoding: 'utf8',
  });
  expect(JSON.parse(ran.stdout)).toEqual(keys.map((key) => isSampled(key, 0.3)));
});

it('the Python client includes the license of recalld', () => {
  expect(read('clients/python/LICENSE')).toBe(read('LICENSE'));
});

it('the Python client has the version of recalld', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(read('clients/python/pyproject.toml')).toContain(`\nversion = "${version}"\n`);
  expect(read('clients/python/recalld/__init__.py')).toContain(`\n__version__ = "${version}"\n`);
  expect(read('clients/python/recalld/client.py')).toContain(`"recalld-python/${version}"`);
});
