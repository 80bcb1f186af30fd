/** Looks at a vector store: how much it holds, and whether it is still made of what it was. */
import { fingerprintOf } from '../deployments/rules/fingerprint.ts';
import type { StoreDescription, VectorStore } from '../stores/vector-store.ts';
import { steadySizeClass } from '../vector/size-class.ts';
import { gapNow, type ProbeDeps, valueNow } from './probes.ts';

/** Measures `store_vectors` and records a deployment when the fingerprint of the store has changed. */
export async function probeStore(
  deps: ProbeDeps,
  pipeline: string,
  store: VectorStore,
  signal: AbortSignal,
): Promise<void> {
  const now = deps.clock.now();
  const described = await store.describe(signal);
  if (described.kind !== 'ok') {
    const [reason, message] =
      described.kind === 'failed' ? ['store_failed', described.message] : ['unsupported', described.reason];
    deps.logger.warn('the vector store could not be looked at', { pipeline, reason: message });
    await deps.measurements.record([gapNow(pipeline, 'store_vectors', now, reason, { message })]);
    return;
  }
  const { count, isExactCount, dimensions, metric, traits } = described.value;
  const all = {
    ...traits,
    ...(await steadySize(deps, pipeline, count, traits)),
    kind: store.kind,
    metric,
    ...(dimensions === null ? {} : { dimensions: String(dimensions) }),
  };
  const deployment = await deps.deployments.observe({
    pipeline,
    part: 'index',
    fingerprint: fingerprintOf(all),
    traits: all,
    at: now,
  });
  if (deployment !== null) {
    deps.logger.info('the vector store has changed', { pipeline, changes: deployment.changes });
  }
  const details = { is_exact: isExactCount, latency_ms: described.latencyMs };
  await deps.measurements.record([valueNow(pipeline, 'store_vectors', now, { value: count, n: 1, details })]);
}

/** The size class as it was last seen, while the count is near the boundary; nothing for a store without one. */
async function steadySize(
  { deployments }: ProbeDeps,
  pipeline: string,
  count: number,
  traits: StoreDescription['traits'],
): Promise<StoreDescription['traits']> {
  if (traits['size_class'] === undefined) return {};
  const seen = await deployments.fingerprints();
  const last = seen.find((one) => one.pipeline === pipeline && one.part === 'index');
  return { size_class: steadySizeClass(count, last?.traits['size_class']) };
}
