/** Sends a few queries to a retriever to measure it during an incident. */

import type { RetrieverRequest } from '../../connectors/retrievers/retriever.ts';
import { openThrottle } from '../../connectors/throttle/throttle.ts';
import type { Context } from '../../core/context.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { retrieverLimitsOf, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';

/** Maximum time that a diagnosis waits for the probes that run just before an incident opens. */
export const PROBES_MS = 30_000;
/** Interval between two measurements of the same measure during an open incident. */
export const CALLS_EVERY_MS = 30 * MINUTE_MS;

/** Returns true if the last measurement, successful or not, was at least half an hour ago. */
export function areCallsDue(measure: string, latest: readonly LatestMeasurement[], now: Date): boolean {
  const found = latest.find((one) => one.measure === measure);
  const last = found?.gap ?? found?.newest;
  return last == null || now.getTime() - last.measuredAt.getTime() >= CALLS_EVERY_MS;
}

/** Number of failures after which recalld sends no further query. */
const MAX_FAILURES = 3;
const CALLS_MS = 15_000;

/**
 * Sends the requests in order, within the limits of the pipeline's golden sets, for at most 15 seconds. Stops after
 * three failures. Rejects with the reason of `signal`, or with a database error.
 *
 * @param purpose distinguishes concurrent callers that share the limits
 * @returns the ids of the returned documents, best first, each once, keyed by the successful requests
 */
export async function callRetriever<Request extends RetrieverRequest>(
  context: Context,
  pipeline: WatchedPipeline,
  requests: readonly Request[],
  purpose: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<Request, readonly string[]>> {
  const limits = retrieverLimitsOf(pipeline);
  const holder = `${context.holder}-${purpose}`;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(CALLS_MS)]);
  const throttle = await openThrottle(context, { pipeline: pipeline.name, holder, ...limits, usualLatencyMs: null });
  const found = new Map<Request, readonly string[]>();
  const remaining = requests.values();
  let failures = 0;
  const ask = async (request: Request): Promise<void> => {
    await throttle.enter(bounded);
    let latencyMs: number | null = null;
    try {
      const { text, k, tags } = request;
      const answer = await pipeline.retriever.retrieve({ text, k, tags }, bounded);
      if (answer.kind !== 'documents') failures += 1;
      else {
        ({ latencyMs } = answer);
        found.set(request, [...new Set(answer.documents.map(({ id }) => id))]);
      }
    } finally {
      throttle.leave(latencyMs, latencyMs === null);
    }
  };
  const lane = async (): Promise<void> => {
    for (const request of remaining) {
      if (failures >= MAX_FAILURES || bounded.aborted) return;
      await ask(request);
    }
  };
  try {
    await Promise.all(Array.from({ length: limits.concurrency }, lane));
  } catch (error) {
    signal.throwIfAborted();
    if (!bounded.aborted) throw error;
  } finally {
    await throttle.close();
  }
  return found;
}
