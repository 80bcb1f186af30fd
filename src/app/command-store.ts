/** What a command of the CLI works on: golden sets and runs in the database of the config. */
import { createApiKeys } from '../adapters/postgres/api-keys.ts';
import { createGoldenRuns } from '../adapters/postgres/golden-runs.ts';
import { createGoldenSets } from '../adapters/postgres/golden-sets.ts';
import type { Config } from '../contracts/config/schema.ts';
import type { ApiKeys } from '../ports/api-keys.ts';
import type { GoldenRuns } from '../ports/golden-runs.ts';
import type { GoldenSets } from '../ports/golden-sets.ts';
import type { Logger } from '../ports/telemetry.ts';
import { createCleanupStack } from './cleanup-stack.ts';
import { openStorage, type Storage } from './storage.ts';

export interface CommandSettings {
  readonly config: Config;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface CommandStore {
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  readonly keys: ApiKeys;
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
    const storage = await openStorage({ ...settings, purpose: 'command', cleanups });
    const { pool } = storage;
    return await work({
      sets: createGoldenSets(pool),
      runs: createGoldenRuns(pool),
      keys: createApiKeys(pool),
      storage,
    });
  } finally {
    await cleanups.run();
  }
}
