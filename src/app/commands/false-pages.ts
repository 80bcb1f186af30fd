/** What `recalld config check` tells of the false pages of a config. */
import { createSchedule } from '../../adapters/schedule/node-cron.ts';
import { periodBudget } from '../../contracts/config/period-budget.ts';
import type { ExpectedOfPipeline } from '../../core/checks/false-pages.ts';
import { expectFalsePages } from '../../pipeline/checks/expect-false-pages.ts';
import type { WatchedPipeline } from '../../pipeline/watched-pipeline.ts';
import { createDensityPlans } from '../density-plans.ts';
import { liveIntervalSeconds } from '../live-measures.ts';
import { systemClock } from '../system-clock.ts';
import { type CommandSettings, withCommandStore } from './command-store.ts';

/**
 * Expects the false pages of each pipeline of the config.
 *
 * @param useRuns whether the latest stored runs tell how much room floors have, which takes the database
 * @throws RecalldError as withCommandStore, with `useRuns`
 */
export async function expectFalsePagesOf(
  settings: CommandSettings,
  pipelines: readonly WatchedPipeline[],
  useRuns: boolean,
): Promise<ExpectedOfPipeline[]> {
  const { config, logger } = settings;
  const schedule = createSchedule(logger);
  const deps = {
    schedule,
    now: systemClock.now(),
    densityPlans: createDensityPlans(config, pipelines),
    liveIntervalSeconds: liveIntervalSeconds(schedule, systemClock),
    latest: useRuns ? await withCommandStore(settings, ({ runs }) => runs.latest()) : null,
    budget: periodBudget(config.alerts.false_page_budget),
  };
  return pipelines.map((pipeline) => expectFalsePages(deps, pipeline));
}
