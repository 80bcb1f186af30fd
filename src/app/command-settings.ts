/** What every command starts from: the config, and a log that only speaks up when something is wrong. */
import { createLogger } from '../adapters/telemetry/pino-logger.ts';
import type { CommandSettings } from './command-store.ts';
import { loadConfig } from './config-file.ts';

/** @throws RecalldError config_not_found, config_invalid */
export function commandSettings(configFile: string | undefined, signal: AbortSignal): CommandSettings {
  const { config } = loadConfig(configFile);
  return { config, logger: createLogger(config.log.level === 'info' ? 'warn' : config.log.level), signal };
}
