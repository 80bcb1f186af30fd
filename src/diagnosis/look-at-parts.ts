/** Probes a pipeline out of turn: when something comes to be in alarm, and so that there is something to compare with. */

import { probePipelines } from '../probes/probe-jobs.ts';
import { measureAnnRecall, probeEmbedder, probeStore } from '../probes/probe-parts.ts';
import type { ProbeDeps, ProbedPipeline } from '../probes/probes.ts';
import { messageOf } from '../text/error-message.ts';

/** A part that does not answer within this keeps nobody from a diagnosis. */
const PATIENCE_MS = 30_000;

/** Measures the store, the embedder and the index now. A part that fails, or takes too long, is left out. */
export async function lookAtParts(
  deps: ProbeDeps,
  pipeline: ProbedPipeline,
  signal: AbortSignal,
): Promise<void> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const probe = (work: () => Promise<void>): Promise<void> =>
    probePipelines(deps, [pipeline], work, bounded).catch((error: unknown) => {
      signal.throwIfAborted();
      deps.logger.warn('a part did not answer in time for a diagnosis', {
        pipeline: pipeline.name,
        reason: messageOf(error),
      });
    });
  const { name, store, embedder } = pipeline;
  await Promise.all([
    store === null ? undefined : probe(() => probeStore(deps, name, store, bounded)),
    embedder === null ? undefined : probe(() => probeEmbedder(deps, name, embedder, bounded)),
    probe(() => measureAnnRecall(deps, pipeline, bounded)),
  ]);
}
