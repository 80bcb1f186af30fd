import type { MigrationReport } from '../../adapters/postgres/migrate.ts';
import { openJobQueue } from '../../adapters/queue/bullmq.ts';
import { createCleanupStack } from '../cleanup-stack.ts';
import { queueBackend } from '../queue-settings.ts';
import { migrateStorage } from '../storage.ts';
import type { CommandSettings } from './command-store.ts';

/**
 * Migrates the database of the config, wherever it is, and the schema of the job queue when that is in it too: the
 * daemon may run as a role that makes neither.
 *
 * @throws RecalldError as migrateStorage, and queue_unreachable
 */
export async function migrateDatabase(settings: CommandSettings): Promise<MigrationReport> {
  const { config, logger } = settings;
  const cleanups = createCleanupStack(logger);
  try {
    const { storage, report } = await migrateStorage({
      ...settings,
      purpose: 'command',
      name: 'recalld migrate',
      cleanups,
    });
    if (config.queue.backend === 'postgres') {
      const queue = await openJobQueue({ backend: queueBackend(config, storage), jobs: [], logger });
      await queue.close();
    }
    return report;
  } finally {
    await cleanups.run();
  }
}
