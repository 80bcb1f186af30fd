import type { StoreSnapshot } from '../core/drift/store/store-snapshot.ts';

/** A snapshot as it is kept: with ids in place of rows of a sample that is gone. */
export interface KeptSnapshot extends Pick<StoreSnapshot, 'centroid' | 'meanLength' | 'clusters' | 'shares'> {
  readonly pipeline: string;
  readonly takenAt: Date;
  /** Sampled vectors with a direction. */
  readonly vectors: number;
  /** Share of the traffic in each cluster; null while there was none to hold against it. */
  readonly queryShares: Float64Array | null;
  /** Id of the most typical chunk of each cluster, null for an empty one. */
  readonly medoids: readonly (string | null)[];
}

/** What stores held when they were looked at. */
export interface StoreSnapshots {
  /** The latest one, null before the first. */
  latest(pipeline: string): Promise<KeptSnapshot | null>;
  /** Keeps a snapshot and forgets all but the newest 30 of its pipeline. */
  keep(snapshot: KeptSnapshot): Promise<void>;
}
