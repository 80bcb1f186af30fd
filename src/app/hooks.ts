/** Hooks that let the code in one folder of src/ start work in another folder. */
import { evaluateChecks } from '../checks/evaluate-checks.ts';
import type { Context } from '../core/context.ts';
import { messageOf } from '../core/errors.ts';
import { followWithShadows } from '../experiments/ask-golden.ts';
import { runGoldenSetJob } from '../golden/golden-jobs.ts';
import { diagnoseAlertsJob } from '../incidents/diagnosis/diagnose-job.ts';
import { readIncidentChart } from '../incidents/diagnosis/edge/incident-chart.ts';
import { sendNotificationsJob } from '../incidents/notifications/notify.ts';
import { reportViolationsJob } from '../live/live-jobs.ts';
import { trendImage } from '../report/console/charts/trend-image.tsx';
import { exportJob } from '../report/export/export-job.ts';

/** Minimum time, in milliseconds, between two jobs that isolation violations start. */
const REPORT_EVERY_MS = 5000;

export function withHooks<T extends Omit<Context, 'hooks'>>(parts: T) {
  const { queue, clock, logger } = parts;
  const context: T & Pick<Context, 'hooks'> = {
    ...parts,
    hooks: {
      evaluateChecks: (only) => evaluateChecks(context, only),
      followWithShadows: (run, pipeline, signal) => followWithShadows(context, run, pipeline, signal),
      resume({ id }) {
        const minute = Math.floor(clock.now().getTime() / 60_000);
        const payload = { run_id: id, round: `resumed-${minute}` };
        return queue.enqueue(runGoldenSetJob.name, payload, `${id}-resumed-${minute}`);
      },
      reportViolations(violated) {
        const round = Math.floor(clock.now().getTime() / REPORT_EVERY_MS);
        for (const pipeline of violated)
          queue
            .enqueue(reportViolationsJob.name, { pipeline }, `${reportViolationsJob.name}-${pipeline}-${round}`)
            .catch((error: unknown) =>
              logger.warn(
                'an isolation violation will be reported only at the next scheduled evaluation of the checks',
                {
                  pipeline,
                  reason: messageOf(error),
                },
              ),
            );
      },
      refreshExport() {
        if (parts.config.export === undefined) return;
        queue.enqueue(exportJob.name, {}, `${exportJob.name}-after-${clock.now().getTime()}`).catch((error: unknown) =>
          logger.warn('erased data stays in the exported files until the next scheduled export', {
            reason: messageOf(error),
          }),
        );
      },
      diagnose: (pipeline, id) => queue.enqueue(diagnoseAlertsJob.name, { pipeline }, `diagnose-${id}`),
      drawIncident: async (incident) => {
        const chart = await readIncidentChart(context, incident, clock.now());
        return chart === null ? null : trendImage({ ...chart, title: `${incident.pipeline}: ${chart.title}` });
      },
      notify: () =>
        queue.enqueue(sendNotificationsJob.name, {}, `${sendNotificationsJob.name}-after-${clock.now().getTime()}`),
    },
  };
  return context;
}
