/**
 * Migrates the database of the config, wherever it is, and the schema of the job queue when that is in it too: the
 * daemon may run as a role that makes neither.
 *
 * @param grants whether that role is given its rights then
 * @throws RecalldError as migrateStorage and grantRights, and queue_unreachable
 */
import { createCleanupStack } from '../../cleanup-stack.ts';
import { grantRights, type MigrationReport } from '../../postgres/migrate.ts';
import { openJobQueue } from '../../queue/bullmq.ts';
import { queueBackend } from '../queue-settings.ts';
import { migrateStorage } from '../storage.ts';
import type { CommandSettings } from './command-store.ts';

export async function migrateDatabase(settings: CommandSettings, grants: boolean): Promise<MigrationReport> {
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
    if (grants) await grantRights(storage.pool);
    return report;
  } finally {
    await cleanups.run();
  }
}
