import type { FloorCheck } from '../core/checks/floor.ts';
import type { RunSettings } from '../core/golden/run.ts';
import type { Retriever } from '../ports/retriever.ts';

/** One pipeline of the config, ready for work. */
export interface WatchedPipeline {
  readonly name: string;
  readonly retriever: Retriever;
  /** Longest that one attempt at the retriever may take. */
  readonly timeoutMs: number;
  readonly golden: readonly GoldenSchedule[];
  readonly floors: readonly FloorCheck[];
}

export interface GoldenSchedule {
  readonly set: string;
  /** Null: it runs only by hand. */
  readonly cron: { readonly expression: string; readonly timezone: string } | null;
  readonly settings: RunSettings;
}
