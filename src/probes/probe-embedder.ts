/** Embeds the canary texts again: vectors that moved mean that another model answers under the same name. */

import { canaryTexts, embeddingCanary } from '../density/rules/embedding-canary.ts';
import { fingerprintOf } from '../deployments/rules/fingerprint.ts';
import type { Embedder } from '../embedders/embedder.ts';
import { gapNow, type ProbeDeps, valueNow } from './probes.ts';

/**
 * Measures `embedding_canary_median` and `embedding_canary_least`, the cosines of the canary texts to the vectors that
 * the embedder gave when it was first met. A changed identity, or vectors that moved under the same one, is recorded
 * as a deployment. The first vectors stay what is compared with, so that the measure does not recover by itself.
 */
export async function probeEmbedder(
  deps: ProbeDeps,
  pipeline: string,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<void> {
  const now = deps.clock.now();
  const answer = await embedder.embed(canaryTexts, signal);
  if (answer.kind === 'failed') {
    const details = { message: answer.message };
    deps.logger.warn('the canary texts could not be embedded', { pipeline, reason: answer.message });
    await deps.measurements.record(
      measures.map((measure) => gapNow(pipeline, measure, now, 'embedder_failed', details)),
    );
    return;
  }
  const { identity } = embedder;
  if ((await deps.canaries.find(pipeline, identity)) === null) {
    await deps.canaries.save(pipeline, identity, answer.vectors, now);
  }
  const stored = (await deps.canaries.find(pipeline, identity)) ?? answer.vectors;
  const canary = embeddingCanary(
    stored.map((vector, index) => ({
      stored: vector,
      recomputed: answer.vectors[index] ?? new Float32Array(),
    })),
  );
  const traits = {
    identity,
    dimensions: String(answer.vectors[0]?.length ?? 0),
    canary: canary.verdict === 'changed' ? 'moved' : 'steady',
  };
  const observation = {
    pipeline,
    part: 'embedder',
    traits,
    fingerprint: fingerprintOf(traits),
    at: now,
  } as const;
  const deployment = await deps.deployments.observe(observation);
  if (deployment !== null) {
    deps.logger.warn('the embedding model has changed', { pipeline, changes: deployment.changes });
  }
  const n = canary.cosines.length;
  const details = { verdict: canary.verdict, latency_ms: answer.latencyMs };
  await deps.measurements.record([
    valueNow(pipeline, 'embedding_canary_median', now, { value: canary.median, n, details }),
    valueNow(pipeline, 'embedding_canary_least', now, { value: canary.least, n, details }),
  ]);
}

const measures = ['embedding_canary_median', 'embedding_canary_least'] as const;
