import type { Deployment, Fingerprint, NewDeployment } from '../rules/deployment.ts';
import type { TraitChange } from '../rules/fingerprint.ts';

/** What a look at a part of a pipeline found. */
export interface Observation extends Pick<Fingerprint, 'pipeline' | 'part' | 'fingerprint' | 'traits'> {
  readonly at: Date;
}

/** Changes of what pipelines are made of. */
export interface Deployments {
  annotate(deployment: NewDeployment): Promise<Deployment>;
  /** Records a change that recalld itself brought about or saw, with what changed. */
  detect(deployment: NewDeployment, changes: readonly TraitChange[]): Promise<Deployment>;
  /**
   * Notes what a part is made of. When that is not what was noted before, a deployment of the part's kind is recorded,
   * once however many replicas look, and given back. The first look at a part is no deployment.
   */
  observe(observation: Observation): Promise<Deployment | null>;
  /** What every part was last seen to be made of. */
  fingerprints(): Promise<readonly Fingerprint[]>;
  /** Newest first; `before` is the id of a deployment that was listed, to go on behind it. */
  list(filter: {
    readonly pipeline?: string;
    readonly before?: string;
    readonly since?: Date;
    readonly limit: number;
  }): Promise<readonly Deployment[]>;
}
