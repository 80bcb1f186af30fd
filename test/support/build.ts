/** Builds the program once, before the end-to-end tests run it as a user does. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';

export function setup(): void {
  const root = path.resolve(import.meta.dirname, '../..');
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
}
