/** Sends a share of the sampled live queries to shadows, after users got their results. */

import type { Context } from '../core/context.ts';
import { HOUR_MS } from '../core/time.ts';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import { depthOf } from '../live/rules/live-query.ts';
import { type Asker, askQueries, forEachShadow, liveCallsLeft } from './ask-shadow.ts';
import { keyOf } from './context.ts';
import { overlapOf } from './rules/live-pairs.ts';
import type { UnaskedQuery } from './sql/shadow-answers.ts';

/** Time limit of a round over all shadows; a round starts every five minutes. */
const TURN_MS = 200_000;
/**
 * Maximum age of a query that is sent to shadows. For older queries, the index may differ from the index that returned
 * the user's results.
 */
const PATIENCE_MS = HOUR_MS;
const MAX_PER_TURN = 500;

/**
 * Runs one round over all shadows. If a round reaches its time limit, the next round continues where it stopped.
 *
 * @throws the errors of forEachShadow
 */
export async function askShadows(context: Context, signal: AbortSignal): Promise<void> {
  const turn = AbortSignal.any([signal, AbortSignal.timeout(TURN_MS)]);
  await forEachShadow(context.pipelines, signal, async (pipeline, shadow) => {
    if (turn.aborted) return;
    try {
      await askShadow({ ...context, signal: turn }, pipeline, shadow);
    } catch (error) {
      // Reaching the time limit is not a failure.
      if (!turn.aborted || error !== turn.reason) throw error;
    }
  });
}

const depth = ({ topK, documents }: UnaskedQuery): number => depthOf(topK, documents.length);

async function askShadow(round: Asker, pipeline: WatchedPipeline, shadow: Shadow): Promise<void> {
  const left = await liveCallsLeft(round, pipeline, shadow);
  if (left <= 0 || shadow.liveRate === 0) return;
  const queries = await round.db.experiments.answers.unasked(keyOf(pipeline, shadow), {
    since: new Date(round.clock.now().getTime() - PATIENCE_MS),
    rate: shadow.liveRate,
    limit: Math.min(left, MAX_PER_TURN),
  });
  await askQueries(round, {
    pipeline,
    shadow,
    queries,
    lanes: shadow.limits.concurrency,
    work: 'live',
    withText: false,
    depth,
    async compare(query, found) {
      if (found === null || (query.outcome !== 'ok' && query.outcome !== 'empty')) return { overlap: null };
      const [ours, theirs] = [query.documents, found].map((list) => list.map(({ id }) => id));
      return { overlap: overlapOf(ours ?? [], theirs ?? [], shadow.chunkSeparator, depth(query)) };
    },
  });
}
