/** The job that notifies receivers. */
import type { Context } from '../../core/context.ts';
import { defineCronJob, type JobDefinition } from '../../platform/queue/job-queue.ts';
import { notify } from './notify.ts';

export const sendNotificationsJob = defineCronJob({
  name: 'send-notifications',
  does: 'Sends the receivers of `notify` what is due about incidents, every 15 seconds and after each diagnosis.',
  // 5 s behind the looks at causes: what a look confirms is sent with its cause.
  cron: '10,25,40,55 * * * * *',
  timeoutMs: 120_000,
  handle: (context: Context, signal) => notify(context, signal),
});

export const notificationJobs: readonly JobDefinition<Context>[] = [sendNotificationsJob];
