import type { CheckResult, CheckShifts } from '../../checks/rules/check-result.ts';
import type { Levels } from '../rules/rotation/overlap.ts';

/** A new version of a golden set that runs beside the one whose scores are exported. */
export interface GoldenRotation {
  readonly id: string;
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly fromVersion: number;
  readonly toVersion: number;
  /** Ticks at which both versions must complete. */
  readonly runsNeeded: number;
  readonly startedAt: Date;
  /** Null while both versions run. */
  readonly endedAt: Date | null;
  /** `replaced`: a still newer version came. */
  readonly outcome: 'completed' | 'replaced' | null;
  readonly levels: Levels;
  readonly shifts: CheckShifts;
}

export type NewRotation = Pick<
  GoldenRotation,
  'pipeline' | 'goldenSet' | 'fromVersion' | 'toVersion' | 'runsNeeded' | 'startedAt'
>;

export interface RotationEnd {
  readonly endedAt: Date;
  readonly levels: Levels;
  readonly shifts: CheckShifts;
  /** Null when no run of the new version has completed. */
  readonly judged: { readonly runId: string; readonly checks: readonly CheckResult[] } | null;
}

/** Of each pipeline and golden set at most one rotation is open. */
export interface GoldenRotations {
  open(pipeline: string, goldenSet: string): Promise<GoldenRotation | null>;
  /** Begins a rotation unless one to that version is open; one to another version is replaced. */
  begin(rotation: NewRotation): Promise<GoldenRotation>;
  /**
   * Lets the new version take over, and puts the checks of its last run in place of those that it was judged by before,
   * all or nothing. False when the rotation had ended before.
   */
  complete(id: string, end: RotationEnd): Promise<boolean>;
  /** Newest first, the open one too. */
  list(filter: {
    readonly pipeline?: string;
    readonly goldenSet?: string;
  }): Promise<readonly GoldenRotation[]>;
}
