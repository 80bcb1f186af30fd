import type { NoiseTable } from '../rules/comparison/rerun-noise.ts';

/** A run that others are compared with, pinned by a person. */
export interface GoldenBaseline {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly runId: string;
  readonly note: string | null;
  readonly pinnedAt: Date;
  /** Null while it is pinned. */
  readonly unpinnedAt: Date | null;
  /** How much reruns of the retriever differ by themselves; empty when that was not measured. */
  readonly noise: NoiseTable;
}

/** At most one baseline is pinned for each pipeline and golden set. */
export interface GoldenBaselines {
  pinned(pipeline: string, goldenSet: string): Promise<GoldenBaseline | null>;
  /** Pins a run in place of what was pinned before. */
  pin(baseline: Omit<GoldenBaseline, 'unpinnedAt'>): Promise<void>;
  /** False when nothing was pinned. */
  unpin(pipeline: string, goldenSet: string, now: Date): Promise<boolean>;
  /** Newest first, those that are no longer pinned too. */
  list(filter: { readonly pipeline?: string; readonly limit: number }): Promise<readonly GoldenBaseline[]>;
}
