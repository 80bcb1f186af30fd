import type { Context } from '../../core/context.ts';
import { defineCronJob, type JobDefinition } from '../../platform/queue/job-queue.ts';
import { notify } from './notify.ts';

export const sendNotificationsJob = defineCronJob({
  name: 'send-notifications',
  does: 'Sends due notifications to the receivers of `notify`, every 15 seconds and after each diagnosis.',
  // Runs 5 s after the diagnoses, so that messages include a confirmed cause.
  cron: '10,25,40,55 * * * * *',
  timeoutMs: 120_000,
  handle: (context: Context, signal) => notify(context, signal),
});

export const notificationJobs: readonly JobDefinition<Context>[] = [sendNotificationsJob];
