/** What a part of a pipeline is made of, as one short text that changes when any of it does. */
import { createHash } from 'node:crypto';

export type Traits = Readonly<Record<string, string>>;

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
