import type { CheckResult } from '../core/checks/result.ts';
import type { SteadyVerdict } from '../core/checks/steady-verdict.ts';
import type { Severity, Verdict } from '../core/model.ts';

/** Where a check of a pipeline stands: `verdict` is the settled one, the other fields are of the latest measurement. */
export interface CheckStanding extends CheckResult, SteadyVerdict {
  readonly pipeline: string;
  /** The segment that decided, where several were judged; else null. */
  readonly segment: string | null;
  /** Whether there is too little to judge, which the config takes as no alarm. */
  readonly isQuiet: boolean;
  /** When the value that it was judged by was measured; null without a value. */
  readonly evidenceAt: Date | null;
  readonly evaluatedAt: Date;
}

export interface StoredStanding extends CheckStanding {
  readonly revision: number;
}

export interface CheckStep {
  readonly standing: CheckStanding;
  /** Of the standing that it started from; 0 for a check that was never judged. */
  readonly revision: number;
  /** What the verdict was before; null at first. */
  readonly from: Verdict | null;
}

/** A change of the verdict of a check. */
export interface CheckTransition {
  readonly id: string;
  readonly pipeline: string;
  readonly check: string;
  readonly severity: Severity;
  /** Null for the first verdict of a check. */
  readonly from: Verdict | null;
  readonly to: Verdict;
  readonly occurredAt: Date;
  /** When it changed again; null while the check stands at it. */
  readonly endedAt: Date | null;
  readonly threshold: number;
  readonly value: number | null;
  readonly segment: string | null;
  readonly explanation: string;
}

export interface TransitionFilter {
  readonly pipeline?: string;
  readonly check?: string;
  /** Only those that occurred at or after this. */
  readonly since?: Date;
  /** Only those that occurred before this. */
  readonly until?: Date;
  /** Id of the last transition of the page before. */
  readonly before?: string;
  readonly limit: number;
}

/** Where checks stand and how they came there. Every call rejects with RecalldError database_unreachable. */
export interface CheckHistory {
  /** Of every check that was ever judged, by pipeline and name. */
  standings(): Promise<readonly StoredStanding[]>;
  /**
   * Takes steps, each with its transition where the verdict changes, all or nothing. A step whose check was meanwhile
   * advanced by another worker is left out, so that nothing is counted or told twice.
   *
   * @returns the steps that were taken
   */
  advance(steps: readonly CheckStep[]): Promise<readonly CheckStep[]>;
  /** Newest first. */
  transitions(filter: TransitionFilter): Promise<readonly CheckTransition[]>;
  /** Drops transitions before a time, and checks that were not judged since then. */
  prune(before: Date): Promise<void>;
}
