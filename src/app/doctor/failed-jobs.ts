/** The doctor on jobs that failed for good: how many are kept, and why the latest of them did. */

import { RecalldError } from '../../errors.ts';
import { openJobQueue } from '../../queue/bullmq.ts';
import type { CommandSettings } from '../commands/command-store.ts';
import { jobCatalogue } from '../job-catalogue.ts';
import { queueBackend } from '../queue-settings.ts';
import type { Storage } from '../storage.ts';
import type { Report } from './finding.ts';

/** A queue that does not answer was reported before. */
export async function examineFailedJobs(
  { config, logger }: CommandSettings,
  storage: Storage,
  report: Report,
): Promise<void> {
  try {
    const queue = await openJobQueue({ backend: queueBackend(config, storage), jobs: jobCatalogue, logger });
    try {
      const failed = (await queue.counts()).filter(({ state, count }) => state === 'failed' && count > 0);
      for (const latest of await queue.failures(1)) {
        const count = failed.find((one) => one.queue === latest.queue)?.count ?? 1;
        const which = count === 1 ? `A job of ${latest.queue}` : `${count} jobs of ${latest.queue}`;
        const reason = latest.reason.replace(/\.$/, '');
        const message = `${which} failed for good, the latest, ${latest.id}, with "${reason}"; the log of its worker says more, and what ticks comes again by itself.`;
        report({ service: 'jobs', status: 'warning', ms: null, message });
      }
    } finally {
      await queue.close();
    }
  } catch (error) {
    if (!(error instanceof RecalldError)) throw error;
  }
}
