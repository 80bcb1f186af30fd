import type { Clock } from '../clock.ts';
import { startOver } from './rules/watch.ts';
import type { RebaselineRequest } from './rules/watch-state.ts';
import type { WatchTable } from './watch-table.ts';

/** `unwatched`: the pipeline was never looked at, so that there is nothing to make anew. */
export type RebaselineAnswer = 'requested' | 'unwatched';

/**
 * Lets go of the baseline and of open alarms. The next run of the job builds a new one when the traffic is enough,
 * else as soon as it is.
 */
export async function requestRebaseline(
  { watch, clock }: { readonly watch: WatchTable; readonly clock: Clock },
  { pipeline, ...request }: { readonly pipeline: string } & Omit<RebaselineRequest, 'at'>,
): Promise<RebaselineAnswer> {
  for (;;) {
    const stored = await watch.find(pipeline);
    if (stored === null) return 'unwatched';
    const at = clock.now();
    const { state, effects } = startOver(pipeline, stored.state, { ...request, at });
    const events = effects.flatMap((effect) => (effect.kind === 'record_event' ? [effect.event] : []));
    const { revision } = stored;
    const isTaken = await watch.advance({ pipeline, revision, state, windows: [], events, at });
    // Otherwise a job took a step meanwhile.
    if (isTaken) return 'requested';
  }
}
