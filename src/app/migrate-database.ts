import type { MigrationReport } from '../adapters/postgres/migrate.ts';
import { createCleanupStack } from './cleanup-stack.ts';
import type { CommandSettings } from './command-store.ts';
import { migrateStorage } from './storage.ts';

/** Migrates the database of the config, wherever it is. @throws RecalldError as migrateStorage */
export async function migrateDatabase(settings: CommandSettings): Promise<MigrationReport> {
  const cleanups = createCleanupStack(settings.logger);
  try {
    return await migrateStorage({ ...settings, purpose: 'command', cleanups });
  } finally {
    await cleanups.run();
  }
}
