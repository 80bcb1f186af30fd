/** A person declares: from here on, this is how live queries are covered. */
import type { Clock } from '../../ports/clock.ts';
import type { DensityStates } from '../../ports/density-states.ts';
import { learningState } from './learn.ts';

export interface RebaselineRequest {
  readonly pipeline: string;
  /** For people; kept with the event. */
  readonly reason: string | null;
  /** Traffic that occurred before then is not taken; null takes the latest there is. */
  readonly since: Date | null;
}

/** `unwatched`: the pipeline was never looked at, so that there is nothing to make anew. */
export type RebaselineAnswer = 'requested' | 'unwatched';

/**
 * Lets go of the baseline and of open alarms. The next run of the job builds a new one when the traffic is enough,
 * else as soon as it is.
 */
export async function requestRebaseline(
  { states, clock }: { readonly states: DensityStates; readonly clock: Clock },
  { pipeline, reason, since }: RebaselineRequest,
): Promise<RebaselineAnswer> {
  for (;;) {
    const stored = await states.find(pipeline);
    if (stored === null) return 'unwatched';
    const { fingerprint, sinceMs } = stored.state;
    const from = since === null ? sinceMs : Math.max(since.getTime(), sinceMs ?? 0);
    const at = clock.now();
    const isTaken = await states.advance({
      pipeline,
      revision: stored.revision,
      // Whether there is enough is looked at at once, not at the end of the next window.
      state: { ...learningState(fingerprint, from), closedMs: 0 },
      windows: [],
      events: [
        {
          kind: 'reset',
          occurredAt: at,
          sentence: `A new density baseline of ${pipeline} was asked for${reason === null ? '' : `: ${reason}`}.`,
          details: { requested: true, since: since?.toISOString() ?? null },
        },
      ],
      at,
    });
    // Otherwise a job took a step meanwhile.
    if (isTaken) return 'requested';
  }
}
