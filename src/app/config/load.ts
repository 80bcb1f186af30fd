/** Reads and validates the config file, and the secret files named in the environment. */
import { existsSync, readFileSync } from 'node:fs';
import { RecalldError } from '../../core/errors.ts';
import { assertStartable } from '../from-config.ts';
import { parseConfig } from './parse.ts';

const DEFAULT_FILE = 'recalld.yaml';

/**
 * Reads `path`, or recalld.yaml in the working directory if it exists; otherwise uses the defaults. Builds everything
 * that the daemon builds from the config, so every command rejects a config that `serve` would reject.
 *
 * @throws RecalldError config_not_found, config_invalid
 */
export function loadConfig(path: string | undefined, env: NodeJS.ProcessEnv = process.env) {
  const loaded = readConfig(path, env);
  assertStartable(loaded.config, loaded.file ?? 'environment');
  return loaded;
}

/** Like loadConfig, but for commands that only show the config: files that the config names may be missing. */
export function readConfig(path: string | undefined, env: NodeJS.ProcessEnv = process.env) {
  const file = path ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : null);
  const text = file === null ? null : readText(file, 'config_not_found', `The config file ${file}`);
  const readSecret = (secret: string): string => readText(secret, 'config_invalid', `The secret file ${secret}`);
  // `file` is null if there is no config file; the defaults then apply.
  return { config: parseConfig(text, file ?? 'environment', env, readSecret), file };
}

const databaseVariables = ['RECALLD_STORAGE_URL', 'RECALLD_STORAGE_URL_FILE', 'RECALLD_STORAGE_DATA_DIR'];

/**
 * Like loadConfig, but for commands that open a database. Requires a config, because the defaults alone would create a
 * database in the current directory, whichever that is.
 *
 * @throws RecalldError config_not_found, config_invalid
 */
export function loadConfigOfDatabase(path: string | undefined, env: NodeJS.ProcessEnv = process.env) {
  const loaded = loadConfig(path, env);
  if (loaded.file !== null || databaseVariables.some((name) => env[name] !== undefined)) return loaded;
  throw new RecalldError(
    'config_not_found',
    `There is no ${DEFAULT_FILE} in ${process.cwd()}, so recalld created no database there; run the command in the folder that contains your config, set --config, or write a config.`,
  );
}

function readText(path: string, code: 'config_not_found' | 'config_invalid', what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'could not be read';
    throw new RecalldError(code, `${what} ${reason}; check the path.`, { cause });
  }
}
