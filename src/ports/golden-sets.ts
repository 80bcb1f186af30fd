import type { GoldenQuery } from '../core/model.ts';

export interface GoldenSetVersion {
  readonly name: string;
  readonly version: number;
  readonly contentHash: string;
  readonly format: string;
  readonly importedAt: Date;
  readonly queries: number;
  readonly judgments: number;
}

export interface NewGoldenSet {
  readonly name: string;
  readonly contentHash: string;
  readonly format: string;
  readonly queries: readonly GoldenQuery[];
}

/** Golden sets by name and version. A version never changes once it is there. */
export interface GoldenSets {
  /**
   * Makes a new version, unless the latest one has the same content hash; all or nothing. Two imports of one name
   * at the same time come one after the other.
   */
  add(set: NewGoldenSet, now: Date): Promise<{ readonly set: GoldenSetVersion; readonly created: boolean }>;
  /** Null when no set of that name exists. */
  latest(name: string): Promise<GoldenSetVersion | null>;
  /** Every version of every set, newest first within a name. */
  list(): Promise<readonly GoldenSetVersion[]>;
  /** The queries of a version with their judgments, in the order of the import. */
  queries(name: string, version: number): Promise<readonly GoldenQuery[]>;
}
