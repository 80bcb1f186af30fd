/** What is measured now, as the probes of index and embedder last saw it. */
import { fingerprintOf } from '../../core/deployment/fingerprint.ts';
import { measurementFingerprint } from '../../core/drift/baseline/measurement-fingerprint.ts';
import type { MeasurementFingerprint } from '../../core/drift/baseline/rebaseline-rule.ts';
import type { Deployments } from '../../ports/deployments.ts';

export interface CurrentFingerprint {
  readonly fields: MeasurementFingerprint;
  /** One short text for all of them. */
  readonly key: string;
}

export async function currentFingerprint(
  deployments: Pick<Deployments, 'fingerprints'>,
  pipeline: string,
  k: number,
): Promise<CurrentFingerprint> {
  const parts = (await deployments.fingerprints()).filter((part) => part.pipeline === pipeline);
  const traitsOf = (name: 'index' | 'embedder') => parts.find(({ part }) => part === name)?.traits ?? null;
  const fields = measurementFingerprint({ index: traitsOf('index'), embedder: traitsOf('embedder') }, k);
  return { fields, key: fingerprintOf({ ...fields }) };
}
