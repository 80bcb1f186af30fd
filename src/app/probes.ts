import { createEmbeddingCanaries } from '../adapters/postgres/density/embedding-canaries.ts';
import { createLiveSamples } from '../adapters/postgres/live/live-samples.ts';
import type { ProbeDeps } from '../pipeline/probes/probes.ts';
import type { Dependencies } from './dependencies.ts';

/** What the probes of stores and embedders work with. */
export function createProbeDeps({
  clock,
  logger,
  deployments,
  measurements,
  storage,
}: Dependencies): ProbeDeps {
  return {
    clock,
    logger,
    deployments,
    measurements,
    canaries: createEmbeddingCanaries(storage.pool),
    samples: createLiveSamples(storage.pool),
  };
}
