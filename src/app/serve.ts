/** The daemon from start to stop, with what it says about itself. */
import { createLogger } from '../adapters/telemetry/pino-logger.ts';
import { inactiveFields } from '../contracts/config/inspect.ts';
import { loadConfig } from './config-file.ts';
import { type Role, startMonitor } from './monitor.ts';
import { version } from './version.ts';

export interface ServeSettings {
  readonly configFile: string | undefined;
  readonly roles: readonly Role[];
  readonly signal: AbortSignal;
}

/**
 * Runs until `signal` aborts or the database is lost for good.
 *
 * @throws RecalldError when it cannot start, or when it lost what it cannot go on without
 */
export async function serve({ configFile, roles, signal }: ServeSettings): Promise<void> {
  const startedAt = performance.now();
  const { config, file } = loadConfig(configFile);
  const logger = createLogger(config.log.level);
  if (file === null) {
    logger.info('there is no recalld.yaml, so defaults are assumed: embedded database, no pipelines', {
      data_dir: config.storage.data_dir,
    });
  }
  for (const field of inactiveFields(config))
    logger.warn('this version accepts the field but does not act on it yet', { field });

  const monitor = await startMonitor({ config, roles, logger, signal });
  logger.info('recalld is ready', {
    version,
    url: monitor.url,
    roles,
    pipelines: config.pipelines.length,
    start_ms: Math.round(performance.now() - startedAt),
  });
  const interrupted = new Promise<null>((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });
  const lost = await Promise.race([interrupted, monitor.lost]);
  logger.info('recalld is stopping');
  await monitor.stop();
  logger.info('recalld has stopped');
  if (lost !== null) throw lost;
}
