/** Probes pipeline after pipeline: one that cannot be probed does not keep the others from it. */
import { messageOf } from '../text/error-message.ts';
import type { ProbeDeps, ProbedPipeline } from './probes.ts';

/** @throws the reason of `signal` when it aborts */
export async function probePipelines<Pipeline extends ProbedPipeline>(
  deps: Pick<ProbeDeps, 'logger'>,
  pipelines: readonly Pipeline[],
  probe: (pipeline: Pipeline) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (const pipeline of pipelines) {
    signal.throwIfAborted();
    try {
      await probe(pipeline);
    } catch (error) {
      signal.throwIfAborted();
      const reason = messageOf(error);
      deps.logger.error('a pipeline could not be probed', { pipeline: pipeline.name, reason });
    }
  }
}
