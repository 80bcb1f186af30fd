/** What `recalld density` does with the database of the config. */
import { createDensityStates } from '../../adapters/postgres/density/density-states.ts';
import { createMeasurements } from '../../adapters/postgres/measurements.ts';
import type { DensityAnswer } from '../../contracts/http/density.ts';
import { describeDensity } from '../../pipeline/density/describe-density.ts';
import {
  type RebaselineAnswer,
  type RebaselineRequest,
  requestRebaseline,
} from '../../pipeline/density/request-rebaseline.ts';
import { densityJson } from '../api/density-json.ts';
import { createDensityPlans } from '../density-plans.ts';
import { assertConfiguredPipeline, closePipelines, createPipelines } from '../pipelines.ts';
import { systemClock } from '../system-clock.ts';
import { type CommandSettings, withCommandStore } from './command-store.ts';

const WEEK_MS = 7 * 86_400_000;

/** @throws RecalldError pipeline_unknown, and as withCommandStore */
export async function showDensity(
  settings: CommandSettings,
  pipeline: string,
  segment: string,
): Promise<DensityAnswer> {
  assertConfiguredPipeline(settings.config, pipeline);
  const pipelines = createPipelines(settings.config, settings.logger);
  try {
    return await withCommandStore(settings, async ({ storage: { pool } }) => {
      const until = systemClock.now();
      const deps = {
        states: createDensityStates(pool),
        measurements: createMeasurements(pool),
        clock: systemClock,
        plans: createDensityPlans(settings.config, pipelines),
      };
      const from = new Date(until.getTime() - WEEK_MS);
      return densityJson(await describeDensity(deps, { pipeline, segment, from, until }));
    });
  } finally {
    await closePipelines(pipelines);
  }
}

/** @throws RecalldError pipeline_unknown, and as withCommandStore */
export async function rebaselineDensity(
  settings: CommandSettings,
  request: RebaselineRequest,
): Promise<RebaselineAnswer> {
  assertConfiguredPipeline(settings.config, request.pipeline);
  return withCommandStore(settings, ({ storage: { pool } }) =>
    requestRebaseline({ states: createDensityStates(pool), clock: systemClock }, request),
  );
}
