/** Hooks by which one subject starts work in another. */
import { evaluateChecks } from '../checks/evaluate-checks.ts';
import type { Context } from '../core/context.ts';
import { followWithShadows } from '../experiments/ask-golden.ts';
import { runGoldenSetJob } from '../golden/golden-jobs.ts';
import { diagnoseAlertsJob } from '../incidents/diagnosis/diagnose-job.ts';
import { readIncidentChart } from '../incidents/diagnosis/edge/incident-chart.ts';
import { sendNotificationsJob } from '../incidents/notifications/notification-jobs.ts';
import { trendImage } from '../report/console/charts/trend-image.tsx';

export function withHooks<T extends Omit<Context, 'hooks'>>(parts: T): T & Pick<Context, 'hooks'> {
  const { queue, clock } = parts;
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
      diagnose: (pipeline, id) => queue.enqueue(diagnoseAlertsJob.name, { pipeline }, `diagnose-${id}`),
      drawIncident: async (incident) => {
        const chart = await readIncidentChart(context, incident, clock.now());
        return chart === null ? null : trendImage(chart);
      },
      notify: () =>
        queue.enqueue(sendNotificationsJob.name, {}, `${sendNotificationsJob.name}-after-${clock.now().getTime()}`),
    },
  };
  return context;
}
