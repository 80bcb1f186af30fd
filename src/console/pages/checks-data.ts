/** What the page of checks and its parts are made from. */
import type { StoredDiagnosis } from '../../core/diagnosis/episode.ts';
import type { CheckState } from '../../pipeline/checks/check-states.ts';
import type { CheckTransition, StoredStanding } from '../../ports/check-history.ts';

export interface ChecksPageData {
  /** Of the chosen pipeline and check. */
  readonly checks: readonly CheckState[];
  readonly standings: readonly StoredStanding[];
  /** Those that hold. */
  readonly diagnoses: readonly StoredDiagnosis[];
  /** Changes within the range, newest first. */
  readonly transitions: readonly CheckTransition[];
  /** Id behind which older ones are; null when there are none. */
  readonly older: string | null;
  /** Whether these are all changes within the range. */
  readonly isWhole: boolean;
  readonly pipelines: readonly string[];
  /** Null: all of them. */
  readonly pipeline: string | null;
  /** Null: all of them. */
  readonly check: string | null;
}
