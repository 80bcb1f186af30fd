/** Looks in the store for chunks that baseline queries found. */
import type { KeptQuery } from '../../ports/density-baselines.ts';
import type { Logger } from '../../ports/telemetry.ts';
import type { DensityPlan } from './plan.ts';

export interface LostChunks {
  readonly probed: number;
  readonly missing: number;
  /** Some of them. */
  readonly ids: readonly string[];
}

const MOST_PROBED = 2_000;
const MOST_NAMED = 20;

/** @returns null when there is nothing to look for, or the store could not be asked */
export async function findLostChunks(
  { logger }: { readonly logger: Logger },
  { pipeline, store }: DensityPlan,
  queries: readonly Pick<KeptQuery, 'nearest'>[],
  signal: AbortSignal,
): Promise<LostChunks | null> {
  const ids = [...new Set(queries.flatMap(({ nearest }) => nearest.map(([id]) => id)))].slice(0, MOST_PROBED);
  if (ids.length === 0) return null;
  const answer = await store.existing(ids, signal);
  if (answer.kind !== 'ok') {
    const reason = answer.kind === 'failed' ? answer.message : answer.reason;
    logger.warn('lost chunks could not be looked for in the vector store', { pipeline, reason });
    return null;
  }
  const missing = ids.filter((id) => !answer.value.has(id));
  return { probed: ids.length, missing: missing.length, ids: missing.slice(0, MOST_NAMED) };
}
