/** The config file and the files of secrets that the environment names, read and checked. */
import { existsSync, readFileSync } from 'node:fs';
import { RecalldError } from '../../core/errors.ts';
import { assertStartable } from '../from-config.ts';
import { parseConfig } from './parse.ts';
import type { Config } from './schema.ts';

const DEFAULT_FILE = 'recalld.yaml';

export interface LoadedConfig {
  readonly config: Config;
  /** Null when there is no file and defaults are assumed. */
  readonly file: string | null;
}

/**
 * Reads `path`, or recalld.yaml of the working folder when there is one, or assumes the defaults. Everything that a start
 * of the daemon makes of the config is made once, so that each command refuses what `serve` would refuse.
 *
 * @throws RecalldError config_not_found, config_invalid
 */
export function loadConfig(path: string | undefined, env: NodeJS.ProcessEnv = process.env): LoadedConfig {
  const loaded = readConfig(path, env);
  assertStartable(loaded.config, loaded.file ?? 'environment');
  return loaded;
}

/** As loadConfig, for who only shows the config: files that it names may be missing. @throws likewise */
export function readConfig(path: string | undefined, env: NodeJS.ProcessEnv = process.env): LoadedConfig {
  const file = path ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : null);
  const text = file === null ? null : readText(file, 'config_not_found', `The config file ${file}`);
  const readSecret = (secret: string): string => readText(secret, 'config_invalid', `The secret file ${secret}`);
  return { config: parseConfig(text, file ?? 'environment', env, readSecret), file };
}

/** Any of them says where the database is. */
const databaseVariables = ['RECALLD_STORAGE_URL', 'RECALLD_STORAGE_URL_FILE', 'RECALLD_STORAGE_DATA_DIR'];

/**
 * As loadConfig, for what opens a database: by the defaults alone it would make one in whatever folder a person happens
 * to stand.
 *
 * @throws RecalldError config_not_found, config_invalid
 */
export function loadConfigOfDatabase(path: string | undefined, env: NodeJS.ProcessEnv = process.env): LoadedConfig {
  const loaded = loadConfig(path, env);
  if (loaded.file !== null || databaseVariables.some((name) => env[name] !== undefined)) return loaded;
  throw new RecalldError(
    'config_not_found',
    `There is no ${DEFAULT_FILE} in ${process.cwd()}, and no database was made there; go to the folder of your config, name the file with --config, or write one.`,
  );
}

function readText(path: string, code: 'config_not_found' | 'config_invalid', what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new RecalldError(code, `${what} ${reason}; check the path.`, { cause });
  }
}
