/** What every command starts from: the config, and a log that only speaks up when something is wrong. */

import type { Logger } from '../../logger.ts';
import { loadConfig } from '../config/config-file.ts';
import type { Config } from '../config/schema.ts';
import { createLogger } from '../logger.ts';
import type { CommandSettings } from './command-store.ts';

/** @throws RecalldError config_not_found, config_invalid */
export function commandSettings(configFile: string | undefined, signal: AbortSignal): CommandSettings {
  const { config } = loadConfig(configFile);
  return { config, logger: commandLogger(config), signal };
}

/** The log of a command: that of a daemon, but silent about what is as it should be. */
export function commandLogger({ log }: Config): Logger {
  return createLogger(log.level === 'info' ? 'warn' : log.level);
}
