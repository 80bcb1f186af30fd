/** The job that notifies receivers. */
import { defineCronJob, type JobDefinition } from '../../platform/queue/job-queue.ts';
import { type NotifyDeps, notify } from './notify.ts';

export interface NotificationJobDeps {
  readonly notifications: NotifyDeps;
}

export const sendNotificationsJob = defineCronJob({
  name: 'send-notifications',
  does: 'Sends the receivers of `notify` what is due about incidents, every 15 seconds and after each diagnosis.',
  // 5 s behind the looks at causes: what a look confirms is sent with its cause.
  cron: '10,25,40,55 * * * * *',
  timeoutMs: 120_000,
  handle: ({ notifications }: NotificationJobDeps, signal) => notify(notifications, signal),
});

export const notificationJobs: readonly JobDefinition<NotificationJobDeps>[] = [sendNotificationsJob];
