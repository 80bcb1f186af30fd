/** Changes of what a pipeline is made of, annotated by people and their deployment tools, or detected by recalld. */
import { createHash } from 'node:crypto';
import { sizeClassText } from '../../../math/vector/size-class.ts';

export const deploymentKinds = ['index', 'embedder', 'retriever', 'golden', 'judge'] as const;

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
  readonly part: 'index' | 'embedder' | 'judge';
  readonly fingerprint: string;
  readonly traits: Readonly<Record<string, string>>;
  readonly since: Date;
  readonly seenAt: Date;
}

type Traits = Readonly<Record<string, string>>;

export interface TraitChange {
  readonly trait: string;
  /** Null: there was none. */
  readonly before: string | null;
  /** Null: there is none any more. */
  readonly after: string | null;
}

/** 12 hexadecimal digits of SHA-256 over the traits, whatever their order. */
export function fingerprintOf(traits: Traits): string {
  const sorted = Object.entries(traits).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 12);
}

/** What changed from one set of traits to another, by name. */
export function traitChanges(before: Traits, after: Traits): TraitChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names
    .map((trait) => ({ trait, before: before[trait] ?? null, after: after[trait] ?? null }))
    .filter((change) => change.before !== change.after);
}

interface TraitWords {
  readonly name: string;
  readonly value?: (value: string) => string;
}

const canaryWords: Readonly<Record<string, string>> = { steady: 'as at first', moved: 'other than at first' };

const words: ReadonlyMap<string, TraitWords> = new Map([
  ['size_class', { name: 'vectors in the store', value: sizeClassText }],
  ['canary', { name: 'vectors of fixed texts', value: (value: string) => canaryWords[value] ?? value }],
  ['identity', { name: 'embedding model' }],
  ['grades', { name: 'grades of fixed pairs' }],
  ['dimensions', { name: 'dimensions of a vector' }],
  ['metric', { name: 'measure of distance' }],
  ['kind', { name: 'kind of store' }],
]);

export function changeInWords({ trait, before, after }: TraitChange): TraitChange {
  const known = words.get(trait);
  const told = (value: string | null) => (value === null ? null : (known?.value?.(value) ?? value));
  return { trait: known?.name ?? trait, before: told(before), after: told(after) };
}
