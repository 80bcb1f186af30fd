import { createLiveSamples } from '../live/sql/live-samples.ts';
import type { ProbeDeps } from '../probes/probes.ts';
import type { Dependencies } from './dependencies.ts';

/** What the probes of stores and embedders work with. */
export function createProbeDeps({
  clock,
  logger,
  density,
  deployments,
  measurements,
  storage,
}: Dependencies): ProbeDeps {
  return {
    clock,
    logger,
    deployments,
    measurements,
    canaries: density.canaries,
    samples: createLiveSamples(storage.pool),
  };
}
