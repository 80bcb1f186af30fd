/** Finds and reads recalld.yaml and the secrets that the environment names as files. */
import { existsSync, readFileSync } from 'node:fs';
import { RecalldError } from '../../errors.ts';
import { parseConfig } from './parse.ts';
import type { Config } from './schema.ts';

const DEFAULT_FILE = 'recalld.yaml';

export interface LoadedConfig {
  readonly config: Config;
  /** Null when there is no file and defaults are assumed. */
  readonly file: string | null;
}

/**
 * Reads `path`, or recalld.yaml of the working folder when there is one, or assumes the defaults.
 *
 * @throws RecalldError config_not_found, config_invalid
 */
export function loadConfig(path: string | undefined, env: NodeJS.ProcessEnv = process.env): LoadedConfig {
  const file = path ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : null);
  const text = file === null ? null : readText(file, 'config_not_found', `The config file ${file}`);
  const readSecret = (secret: string): string =>
    readText(secret, 'config_invalid', `The secret file ${secret}`);
  return { config: parseConfig(text, file ?? 'environment', env, readSecret), file };
}

function readText(path: string, code: 'config_not_found' | 'config_invalid', what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new RecalldError(code, `${what} ${reason}; check the path.`, { cause });
  }
}
