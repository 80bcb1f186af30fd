/** Deployments in memory: what was observed is what is there. */
import type { Deployments, Observation } from '../../src/deployments/deployments.ts';
import {
  type Deployment,
  type Fingerprint,
  type NewDeployment,
  type TraitChange,
  traitChanges,
} from '../../src/deployments/rules/deployment.ts';

export class MemoryDeployments implements Deployments {
  readonly recorded: Deployment[] = [];
  readonly #seen = new Map<string, Fingerprint>();

  async annotate(deployment: NewDeployment): Promise<Deployment> {
    return this.#record({ ...deployment, source: 'annotated', changes: [] });
  }

  async detect(deployment: NewDeployment, changes: readonly TraitChange[]): Promise<Deployment> {
    return this.#record({ ...deployment, source: 'detected', changes });
  }

  async observe({ at, ...part }: Observation): Promise<Deployment | null> {
    const key = `${part.pipeline} ${part.part}`;
    const known = this.#seen.get(key);
    const isChanged = known !== undefined && known.fingerprint !== part.fingerprint;
    this.#seen.set(key, { ...part, since: isChanged ? at : (known?.since ?? at), seenAt: at });
    if (!isChanged) return null;
    const { pipeline, part: kind, fingerprint: version, traits } = part;
    const changes = traitChanges(known.traits, traits);
    return this.#record({ pipeline, kind, version, note: null, occurredAt: at, source: 'detected', changes });
  }

  async fingerprints(): Promise<readonly Fingerprint[]> {
    return [...this.#seen.values()];
  }

  async list({ pipeline, limit }: Parameters<Deployments['list']>[0]): Promise<readonly Deployment[]> {
    return this.recorded
      .filter((deployment) => pipeline === undefined || deployment.pipeline === pipeline)
      .toReversed()
      .slice(0, limit);
  }

  #record(deployment: Omit<Deployment, 'id'>): Deployment {
    const recorded = { ...deployment, id: String(this.recorded.length + 1) };
    this.recorded.push(recorded);
    return recorded;
  }
}
