/** What every command starts from: the config, and a log that only speaks up when something is wrong. */
import { createLogger } from '../../adapters/telemetry/pino-logger.ts';
import type { Config } from '../../contracts/config/schema.ts';
import type { Logger } from '../../ports/telemetry.ts';
import { loadConfig } from '../config-file.ts';
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
