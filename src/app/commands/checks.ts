/** What `recalld checks` tells: where the checks of a config stand, and when they changed. */
import { createCheckHistory } from '../../adapters/postgres/check-history.ts';
import type { CheckStateJson, TransitionJson } from '../../contracts/http/pipeline-status.ts';
import { checkStateJson, transitionJson } from '../../http/status-json.ts';
import { readCheckStates } from '../../pipeline/publish/read-status.ts';
import type { TransitionFilter } from '../../ports/check-history.ts';
import { assertConfiguredPipeline } from '../pipelines.ts';
import { type CommandSettings, withCommandStore } from './command-store.ts';
import { withWatchedStore } from './watched-store.ts';

/**
 * Where every check stands, in the order of the config.
 *
 * @param pipeline null for all
 * @throws RecalldError pipeline_unknown, and as withCommandStore
 */
export async function listChecks(
  settings: CommandSettings,
  pipeline: string | null,
): Promise<CheckStateJson[]> {
  if (pipeline !== null) assertConfiguredPipeline(settings.config, pipeline);
  return withWatchedStore(settings, async (store) => {
    const states = await readCheckStates(store);
    return states
      .filter((state) => pipeline === null || state.pipeline === pipeline)
      .map((state) => checkStateJson(state, store.clock.now()));
  });
}

/**
 * When checks changed, newest first.
 *
 * @throws RecalldError pipeline_unknown, and as withCommandStore
 */
export async function listTransitions(
  settings: CommandSettings,
  filter: TransitionFilter,
): Promise<TransitionJson[]> {
  if (filter.pipeline !== undefined) assertConfiguredPipeline(settings.config, filter.pipeline);
  return withCommandStore(settings, async ({ storage: { pool } }) =>
    (await createCheckHistory(pool).transitions(filter)).map(transitionJson),
  );
}
