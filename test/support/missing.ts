/** Programs that some tests need and users do not. */
import { spawnSync } from 'node:child_process';

/** True if a program is not installed. On CI, a missing program is an error, because CI installs the program. */
export function missing(
  program: 'promtool' | 'jsonnet' | 'amtool' | 'prometheus' | 'prometheus-alertmanager' | 'redis-server' | 'pgbouncer',
): boolean {
  const found = spawnSync(program, ['--version']).error === undefined;
  if (!found && process.env['CI'] !== undefined) throw new Error(`${program} is not installed on CI`);
  if (!found) process.stderr.write(`${program} is not installed, so the tests that need it are skipped.\n`);
  return !found;
}
