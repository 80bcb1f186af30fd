import { resolve } from 'node:path';
import { type CleanupStack, createCleanupStack } from '../../core/cleanup-stack.ts';
import type { Context } from '../../core/context.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { systemClock } from '../../core/system-clock.ts';
import { computeOfCommands } from '../../density/compute.ts';
import { statisticsOfCommands } from '../../golden/golden-statistics.ts';
import { newRunId } from '../../golden/runs/run-golden-set.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { createExplainBudget } from '../../incidents/explain/explain-budget.ts';
import { createExplainTurns } from '../../incidents/explain/explain-turns.ts';
import { commandUser } from '../../platform/access/audit-log.ts';
import { clusterOf } from '../../platform/postgres/embedded/data-dir.ts';
import { runningPostmaster } from '../../platform/postgres/embedded/server.ts';
import { loadConfigOfDatabase } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { createDb, openDatabase, openStorage, replica, type Storage, type StorageRequest } from '../database.ts';
import { buildFromConfig } from '../from-config.ts';
import { createLogger } from '../logger.ts';
import { closePipelines, createPipelines } from '../pipelines.ts';

/** Application name of command connections in `pg_stat_activity`. */
export const COMMAND_NAME = 'recalld command';

export type CommandSettings = Pick<StorageRequest, 'config' | 'logger' | 'signal'>;

/** The context of a command. A command runs outside a daemon and uses neither the queue nor the hooks. */
export interface CommandStore extends Context {
  readonly storage: Storage;
}

/**
 * Opens the database for the duration of `work`. If a daemon is using the embedded database, connects to that database
 * instead of starting another server.
 *
 * @throws the errors of openStorage and `work`
 */
export async function withCommandStore<T>(
  settings: CommandSettings,
  work: (store: CommandStore) => Promise<T>,
): Promise<T> {
  const cleanups = createCleanupStack(settings.logger);
  try {
    const storage = await openStorage({ ...settings, purpose: 'command', name: COMMAND_NAME, cleanups });
    return await work(contextOfCommand(settings, storage, cleanups));
  } finally {
    await cleanups.run();
  }
}

const none = null as never;

function contextOfCommand({ config, logger }: CommandSettings, storage: Storage, cleanups: CleanupStack): CommandStore {
  const clock = systemClock;
  const { db, reads } = openDatabase(storage, commandUser());
  const built = buildFromConfig(config, logger, clock.now());
  cleanups.defer('pipelines', () => built.close());
  return {
    ...built,
    db,
    reads,
    dbBy: (person) => createDb(storage.pool, person),
    config,
    clock,
    logger,
    storage,
    statistics: statisticsOfCommands,
    compute: computeOfCommands,
    holder: replica,
    newRunId,
    newTopicId: none,
    queue: none,
    hooks: none,
    meter: none,
    hashKey: none,
    ownLag: null,
    explainTurns: createExplainTurns(),
    explainBudget: createExplainBudget(clock),
  };
}

/** @throws RecalldError config_not_found, config_invalid */
export function commandSettings(configFile: string | undefined, signal: AbortSignal): CommandSettings {
  const { config } = loadConfigOfDatabase(configFile);
  return { config, logger: commandLogger(config), signal };
}

export function commandLogger({ log }: Config): Logger {
  return createLogger(log.level === 'info' ? 'warn' : log.level);
}

/** Returns a `withCommandStore` that reads the config only when a subcommand starts. */
export function commandStores(signal: AbortSignal) {
  return <T>(configFile: string | undefined, work: (store: CommandStore) => Promise<T>): Promise<T> =>
    withCommandStore(commandSettings(configFile, signal), work);
}

/** @throws RecalldError config_invalid, pipeline_unknown, and errors from `work` */
export async function withPipeline<T>(
  { config, logger }: CommandSettings,
  name: string,
  work: (pipeline: WatchedPipeline) => Promise<T>,
): Promise<T> {
  const pipelines = createPipelines(config, logger);
  try {
    return await work(findPipeline(pipelines, name));
  } finally {
    await closePipelines(pipelines);
  }
}

/** Returns an empty list if the database does not respond or has no tables; never starts a database. */
export async function readIfThere<T>(
  { config, logger, signal }: CommandSettings,
  read: () => Promise<readonly T[]>,
): Promise<readonly T[]> {
  if (!(await isDatabaseThere(config))) return [];
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    logger.debug('could not read the database', { reason: messageOf(error) });
    return [];
  }
}

/** The embedded database is available only while a daemon is using its data folder. */
async function isDatabaseThere({ storage }: Config): Promise<boolean> {
  return storage.url !== 'embedded' || (await runningPostmaster(clusterOf(resolve(storage.data_dir)))) !== null;
}
