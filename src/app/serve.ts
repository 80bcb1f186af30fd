/** The daemon from start to stop, with what it says about itself. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { RecalldError } from '../errors.ts';
import { clusterOf } from '../postgres/embedded/data-dir.ts';
import { loadConfigOfDatabase } from './config/parse.ts';
import type { Config } from './config/schema.ts';
import { createLogger } from './logger.ts';
import { type Monitor, type Role, startMonitor } from './monitor.ts';
import { version } from './version.ts';

export interface ServeSettings {
  readonly configFile: string | undefined;
  readonly roles: readonly Role[];
  readonly signal: AbortSignal;
}

/**
 * By how much the heap may outgrow what lives in it before it is cleaned. Left to itself V8 lets it grow to a multiple,
 * so that under load a process holds hundreds of megabytes of what nobody needs.
 */
const HEAP_GROWING_PERCENT = 50;

/**
 * Runs until `signal` aborts.
 *
 * @throws RecalldError when it cannot start, and stop_overdue
 */
export async function serve({ configFile, roles, signal }: ServeSettings): Promise<void> {
  const startedAt = performance.now();
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  const { config, file } = loadConfigOfDatabase(configFile);
  const logger = createLogger(config.log.level);
  if (file === null) logger.info('there is no recalld.yaml, so the environment alone is the config: no pipelines');
  const unused = orphanedDataDir(config);
  if (unused !== null) logger.warn(unused);

  const monitor = await startMonitor({ config, roles, logger, signal });
  logger.info('recalld is ready', {
    version,
    url: monitor.url,
    roles,
    pipelines: config.pipelines.length,
    start_ms: Math.round(performance.now() - startedAt),
  });
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  logger.info('recalld is stopping');
  await stopInTime(monitor, config.server.shutdown_seconds);
  logger.info('recalld has stopped');
}

/** Whoever waits for us kills us in the end; to end before is to say why. @throws RecalldError stop_overdue */
async function stopInTime(monitor: Monitor, seconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `The daemon did not end in order within ${seconds} s and ends now, while it waits for ${monitor.left()}; nothing that was accepted is lost, and jobs go on elsewhere or after the next start. server.shutdown_seconds gives it longer.`;
      reject(new RecalldError('stop_overdue', message));
    }, seconds * 1000);
  });
  try {
    await Promise.race([monitor.stop(), overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/** What to say of it, and how its data are moved; null when there is none. */
export function orphanedDataDir({ storage }: Pick<Config, 'storage'>): string | null {
  if (storage.url === 'embedded') return null;
  const cluster = clusterOf(path.resolve(storage.data_dir));
  if (!existsSync(path.join(cluster, 'PG_VERSION'))) return null;
  return `${storage.data_dir} holds an embedded database that this config does not use; deploy/postgres/move-embedded.sh copies it into the PostgreSQL of storage.url, as deploy/README.md tells. Once that is done, or not wanted, remove the folder.`;
}
