import type { Baseline } from '../core/drift/baseline/baseline.ts';
import type { Matrix } from '../core/vector/matrix.ts';

/** What is kept of a baseline when its queries are gone. */
export type FrozenBaseline = Omit<Baseline, 'tail'>;

export interface BaselineSummary {
  readonly pipeline: string;
  /** From 1, for each pipeline. */
  readonly version: number;
  readonly createdAt: Date;
  /** Why it was built, for people. */
  readonly reason: string;
}

export interface StoredBaseline extends BaselineSummary {
  readonly baseline: FrozenBaseline;
  /** Sessions of the period that the kept tail stands for: fewer than all when only a part of the tail is kept. */
  readonly tailSessions: number;
}

/** A baseline query that is kept with its vector. */
export interface KeptQuery {
  readonly id: string;
  readonly userHash: string | null;
  /** Names its session within its window. */
  readonly session: string;
  readonly score: number;
  readonly surprise: number;
  /** Ids and cosines of its best chunks at the time. */
  readonly nearest: readonly (readonly [string, number])[];
  readonly vector: Float32Array;
}

export interface KeptQueries {
  readonly queries: readonly Omit<KeptQuery, 'vector'>[];
  /** In the order of the queries. */
  readonly vectors: Matrix;
}

/** `tail`: the badly covered tenth, for the search for uncovered topics. `sample`: drawn from all. */
export type KeptRole = 'tail' | 'sample';

/** Baselines of query density; a version is never changed. */
export interface DensityBaselines {
  /** @returns its version */
  save(
    stored: Omit<StoredBaseline, 'version'>,
    kept: Readonly<Record<KeptRole, readonly KeptQuery[]>>,
  ): Promise<number>;
  find(pipeline: string, version: number): Promise<StoredBaseline | null>;
  /** Those that were not erased since. */
  kept(pipeline: string, version: number, role: KeptRole): Promise<KeptQueries>;
  /** Lets go of the queries of versions before this one; their numbers stay. */
  releaseBefore(pipeline: string, version: number): Promise<void>;
}
