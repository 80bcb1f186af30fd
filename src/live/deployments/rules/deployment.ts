/** Pipeline changes that users or deployment tools recorded, or that recalld detected. */
import { createHash } from 'node:crypto';
import { sizeClassText } from '../../../math/vector/size-class.ts';

export const deploymentKinds = ['index', 'embedder', 'retriever', 'golden', 'judge'] as const;

export type DeploymentKind = (typeof deploymentKinds)[number];

export interface NewDeployment {
  readonly pipeline: string;
  readonly kind: DeploymentKind;
  /** The new version: a version number, a tag, or the fingerprint that recalld detected. */
  readonly version: string;
  readonly note: string | null;
  readonly occurredAt: Date;
}

export interface Deployment extends NewDeployment {
  readonly id: string;
  readonly source: 'annotated' | 'detected';
  /** Changed traits; empty for a recorded deployment. */
  readonly changes: readonly TraitChange[];
}

export interface Fingerprint {
  readonly pipeline: string;
  readonly component: 'index' | 'embedder' | 'judge';
  readonly fingerprint: string;
  readonly traits: Readonly<Record<string, string>>;
  readonly since: Date;
  readonly seenAt: Date;
}

type Traits = Readonly<Record<string, string>>;

/** Returns the first 12 hexadecimal digits of the SHA-256 of the traits. The order of the traits has no effect. */
export function fingerprintOf(traits: Traits): string {
  const sorted = Object.entries(traits).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 12);
}

export type TraitChange = ReturnType<typeof traitChanges>[number];

/**
 * Returns the differences between two sets of traits, sorted by name. `before` is null for a new trait, and `after` is
 * null for a removed trait.
 */
export function traitChanges(before: Traits, after: Traits) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names
    .map((trait) => ({ trait, before: before[trait] ?? null, after: after[trait] ?? null }))
    .filter((change) => change.before !== change.after);
}

const canaryWords: Readonly<Record<string, string>> = { steady: 'unchanged', moved: 'changed' };

const words: ReadonlyMap<string, { readonly name: string; readonly value?: (value: string) => string }> = new Map([
  ['size_class', { name: 'vectors in the store', value: sizeClassText }],
  ['canary', { name: 'embedding canary', value: (value: string) => canaryWords[value] ?? value }],
  ['identity', { name: 'embedding model' }],
  ['grades', { name: 'grades of the judge panel' }],
  ['dimensions', { name: 'vector dimensions' }],
  ['metric', { name: 'distance metric' }],
  ['kind', { name: 'kind of store' }],
]);

export function changeInWords({ trait, before, after }: TraitChange): TraitChange {
  const known = words.get(trait);
  const worded = (value: string | null) => (value === null ? null : (known?.value?.(value) ?? value));
  return { trait: known?.name ?? trait, before: worded(before), after: worded(after) };
}
