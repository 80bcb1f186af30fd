/** The job that notifies receivers. */
import { defineCronJob, type JobDefinition } from '../queue/job-queue.ts';
import { type NotifyDeps, notify } from './notify.ts';

export interface NotificationJobDeps {
  readonly notifications: NotifyDeps;
}

export const sendNotificationsJob = defineCronJob({
  name: 'send-notifications',
  does: 'Sends the receivers of `notify` what is due about incidents, twice a minute and after each diagnosis.',
  cron: '5,35 * * * * *',
  timeoutMs: 120_000,
  handle: ({ notifications }: NotificationJobDeps, signal) => notify(notifications, signal),
});

export const notificationJobs: readonly JobDefinition<NotificationJobDeps>[] = [sendNotificationsJob];
