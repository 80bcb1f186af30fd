/** What a command of the CLI works on: golden sets and runs in the database of the config. */

import { resolve } from 'node:path';
import type { EvaluateChecksDeps } from '../../checks/evaluate-checks.ts';
import { createCleanupStack } from '../../core/cleanup-stack.ts';
import type { Context } from '../../core/context.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { systemClock } from '../../core/system-clock.ts';
import { createDensityPlans } from '../../density/plan.ts';
import { type GoldenStatistics, statisticsOfCommands } from '../../golden/golden-statistics.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import type { DiagnoseDeps } from '../../incidents/diagnosis/diagnose-pipeline.ts';
import { createExplainTurns, type ExplainTurns } from '../../incidents/explain/explain-turns.ts';
import { liveIntervalSeconds } from '../../live/live-jobs.ts';
import { commandUser } from '../../platform/access/audit-log.ts';
import { clusterOf } from '../../platform/postgres/embedded/data-dir.ts';
import { runningPostmaster } from '../../platform/postgres/embedded/server.ts';
import type { ReadReviewDeps } from '../../report/status/read-review.ts';
import type { ReadStatusDeps } from '../../report/status/read-status.ts';
import { loadConfigOfDatabase } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { type FlatTables, flatTables, openDatabase, openStorage, type Storage } from '../database.ts';
import { createTimetable, intervalsOf } from '../jobs.ts';
import { createLogger } from '../logger.ts';
import { closePipelines, createPipelines } from '../pipelines.ts';

/** What the connections of a command are called in `pg_stat_activity`. */
export const COMMAND_NAME = 'recalld command';

export interface CommandSettings {
  readonly config: Config;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface CommandStore extends FlatTables, Pick<Context, 'db' | 'reads'> {
  readonly statistics: GoldenStatistics;
  readonly storage: Storage;
}

/**
 * Opens the store for the length of `work`: that of the daemon that runs on the data folder, or one of its own.
 *
 * @throws RecalldError as openStorage, and what `work` throws
 */
export async function withCommandStore<T>(
  settings: CommandSettings,
  work: (store: CommandStore) => Promise<T>,
): Promise<T> {
  const cleanups = createCleanupStack(settings.logger);
  try {
    const storage = await openStorage({ ...settings, purpose: 'command', name: COMMAND_NAME, cleanups });
    const database = openDatabase(storage, commandUser());
    return await work({ ...flatTables(database.db), ...database, statistics: statisticsOfCommands, storage });
  } finally {
    await cleanups.run();
  }
}

/** @throws RecalldError config_not_found, config_invalid */
export function commandSettings(configFile: string | undefined, signal: AbortSignal): CommandSettings {
  const { config } = loadConfigOfDatabase(configFile);
  return { config, logger: commandLogger(config), signal };
}

/** The log of a command: that of a daemon, but silent about what is as it should be. */
export function commandLogger({ log }: Config): Logger {
  return createLogger(log.level === 'info' ? 'warn' : log.level);
}

/** @throws RecalldError config_invalid, pipeline_unknown, and what `work` throws */
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

/** What a command needs to say how the pipelines of the config stand, beside a daemon or without one. */
type WatchedStore = CommandStore &
  ReadStatusDeps &
  DiagnoseDeps &
  ReadReviewDeps &
  EvaluateChecksDeps & { readonly explainTurns: ExplainTurns };

/** Opens the store for the length of `work`. @throws RecalldError as createPipelines and withCommandStore */
export function withWatchedStore<T>(settings: CommandSettings, work: (store: WatchedStore) => Promise<T>): Promise<T> {
  return withCommandStore(settings, (store) => watching(settings, store, work));
}

/** Over a store that is open. @throws RecalldError as createPipelines */
export async function watching<T>(
  { config, logger }: CommandSettings,
  store: CommandStore,
  work: (store: WatchedStore) => Promise<T>,
): Promise<T> {
  const clock = systemClock;
  const pipelines = createPipelines(config, logger);
  try {
    return await work({
      ...store,
      pipelines,
      densityPlans: createDensityPlans(config, pipelines),
      intervalSeconds: intervalsOf(pipelines, createTimetable(clock.now())),
      liveIntervalSeconds: liveIntervalSeconds(clock),
      explainTurns: createExplainTurns({ limits: store.limits, clock, logger }),
      // A command did not measure what it reads.
      ownLag: null,
      clock,
      logger,
    });
  } finally {
    await closePipelines(pipelines);
  }
}

/**
 * Reads a list from the database for a command that works without one. It never starts a database and never fails for
 * want of one: without a database that answers, or one that has the tables, the list is empty.
 */
export async function readIfThere<T>(
  { config, logger, signal }: CommandSettings,
  read: () => Promise<readonly T[]>,
): Promise<readonly T[]> {
  if (!(await isDatabaseThere(config))) return [];
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    logger.debug('what is stored could not be read', { reason: messageOf(error) });
    return [];
  }
}

/** The embedded one is there while a daemon runs on its data folder. */
async function isDatabaseThere({ storage }: Config): Promise<boolean> {
  return storage.url !== 'embedded' || (await runningPostmaster(clusterOf(resolve(storage.data_dir)))) !== null;
}
