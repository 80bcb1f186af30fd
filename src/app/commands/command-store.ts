/** What a command of the CLI works on: golden sets and runs in the database of the config. */
import { createCleanupStack } from '../../cleanup-stack.ts';
import { type GoldenStatistics, statisticsOfCommands } from '../../golden/golden-statistics.ts';
import type { Logger } from '../../logger.ts';
import type { Config } from '../config/schema.ts';
import { type Database, openDatabase } from '../database.ts';
import { openStorage, type Storage } from '../storage.ts';

/** What the connections of a command are called in `pg_stat_activity`. */
export const COMMAND_NAME = 'recalld command';

export interface CommandSettings {
  readonly config: Config;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface CommandStore extends Database {
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
    return await work({ ...openDatabase(storage), statistics: statisticsOfCommands, storage });
  } finally {
    await cleanups.run();
  }
}
