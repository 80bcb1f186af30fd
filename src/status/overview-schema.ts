/** `recalld status --json`: how every pipeline stands. */
import type { Verdict } from '../model.ts';

export interface OverviewJson {
  readonly pipeline: string;
  /** The worst of its checks, and of what must be fresh: never `ok` by values that are too old. */
  readonly state: Verdict;
  /** Why it is not ok, worst first. */
  readonly reasons: readonly string[];
  /** The summary of the diagnosis that holds; null when nothing is in alarm. */
  readonly diagnosis: string | null;
  readonly golden_sets: readonly {
    readonly golden_set: string;
    /** Of the last run that completed; null when none did. */
    readonly age_seconds: number | null;
    readonly is_too_old: boolean;
    /** nDCG at the largest cut-off. */
    readonly score: {
      readonly measure: string;
      readonly mean: number;
      readonly ci_low: number;
      readonly ci_high: number;
    } | null;
    /** The same measure over the last runs that completed, oldest first. */
    readonly trend: readonly (number | null)[];
  }[];
}
