/** Changes of what a pipeline is made of, annotated by people and their deployment tools, or detected by recalld. */
import type { TraitChange } from './fingerprint.ts';

export const deploymentKinds = ['index', 'embedder', 'retriever', 'golden'] as const;

export type DeploymentKind = (typeof deploymentKinds)[number];

export interface NewDeployment {
  readonly pipeline: string;
  readonly kind: DeploymentKind;
  /** What is there now: a version, a tag, or the fingerprint that recalld saw. */
  readonly version: string;
  readonly note: string | null;
  readonly occurredAt: Date;
}

export interface Deployment extends NewDeployment {
  readonly id: string;
  readonly source: 'annotated' | 'detected';
  /** The traits that changed; empty for what was annotated. */
  readonly changes: readonly TraitChange[];
}

/** What one part of a pipeline was made of when it was last looked at. */
export interface Fingerprint {
  readonly pipeline: string;
  readonly part: 'index' | 'embedder';
  readonly fingerprint: string;
  readonly traits: Readonly<Record<string, string>>;
  readonly since: Date;
  readonly seenAt: Date;
}
