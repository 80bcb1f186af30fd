/** Types for density monitoring: states, observations and effects. `watch.ts` connects them. */

import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import type { AlertEvent, AlertLevel, AlertState, FalsePageBudget } from './alert.ts';
import type { BaselineTraffic, FrozenBaseline } from './baseline.ts';
import type { FingerprintField, MeasurementFingerprint, Replay } from './measurement-change.ts';
import type { CoverageTotals, WindowSpan, WindowTotals } from './pooled-density.ts';

export interface WatchSettings {
  readonly pipeline: string;
  readonly windowMs: number;
  /** Time in milliseconds for which recalld waits after the end of a window before it closes the window. */
  readonly graceMs: number;
  readonly budget: FalsePageBudget;
  /** Number of pipelines that share the budget. */
  readonly monitors: number;
  readonly needs: BaselineTraffic;
}

/**
 * Phase of monitoring. `learning`: there is no baseline yet. `replaying`: the index or embedder changed, and the
 * queries of the last baseline are being searched again. `watching`: windows are compared with a baseline.
 */
export type DensityPhase =
  | { readonly kind: 'learning'; readonly progress: BaselineTraffic }
  | ReplayingPhase
  | WatchingPhase;

export interface ReplayingPhase {
  readonly kind: 'replaying';
  readonly baselineVersion: number;
  /** Period of the queries, in epoch milliseconds. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly startedMs: number;
  readonly reason: string;
}

export interface WatchingPhase {
  readonly kind: 'watching';
  readonly baselineVersion: number;
  readonly grade: 'page' | 'provisional';
  readonly days: number;
  readonly sessions: number;
  /** Cross-fitted density of the baseline queries: usually near 1, but above 1 if few queries repeat. */
  readonly density: number;
  /** End of the baseline period. */
  readonly untilMs: number;
  /**
   * Next time at which recalld tries to replace a provisional baseline with a longer one; null for a baseline of
   * grade `page`.
   */
  readonly upgradeMs: number | null;
  readonly alerts: Readonly<Partial<Record<AlertLevel, AlertState>>>;
}

/** State of density monitoring, stored as JSON. */
export interface DensityState {
  readonly phase: DensityPhase;
  /** End of the last closed window, in epoch milliseconds. */
  readonly closedMs: number;
  /** Time before which measurements are not comparable with later ones; null if all are comparable. */
  readonly sinceMs: number | null;
  readonly fingerprint: MeasurementFingerprint;
}

export interface ClosedWindow extends WindowSpan {
  /** Time at which the window was measured; queries that are scored after this time count as late. */
  readonly measuredMs: number;
  readonly baselineVersion: number;
  readonly totals: WindowTotals;
  /** Measurements, keyed by segment, including `all`. */
  readonly segments: Readonly<Record<string, CoverageTotals>>;
}

export interface MeasuredWindow {
  readonly baseline: FrozenBaseline;
  /** Windows of the last week with the same baseline, in order; the closing window is last. */
  readonly history: readonly ClosedWindow[];
  /** Windows in `history` to which late samples were added. */
  readonly remeasured: readonly ClosedWindow[];
  /** One score per session of the closing window, from `detectorScores`. */
  readonly scores: ArrayLike<number>;
  /** Number of queries in the window that were not measurable, by reason. */
  readonly notMeasurable: Readonly<Record<string, number>>;
}

export type DensityEventKind = 'page' | 'ticket' | 'resolve' | 'reset' | 'rebaseline';

export interface NewDensityEvent {
  readonly kind: DensityEventKind;
  readonly occurredAt: Date;
  /** Description with numbers. */
  readonly sentence: string;
  /** Numbers and chunk ids. Contains no texts, and no ids of queries or users. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface BuiltBaseline {
  readonly version: number;
  readonly baseline: FrozenBaseline;
  /** Reason for building the baseline, as shown to users. */
  readonly reason: string;
  /** Windows that end after this time are monitored. */
  readonly closedMs: number;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What happened since the last step. */
export type WatchObservation =
  /** No known field of the fingerprint changed, but more fields became known. */
  | { readonly kind: 'measurement_identified'; readonly fingerprint: MeasurementFingerprint }
  | {
      readonly kind: 'measurement_changed';
      readonly fingerprint: MeasurementFingerprint;
      readonly changed: readonly FingerprintField[];
      readonly at: Date;
      readonly consequence:
        | { readonly kind: 'keep'; readonly searched: Replay }
        | {
            readonly kind: 'replay';
            readonly queries: number;
            readonly baselineVersion: number;
            readonly from: Date;
            readonly until: Date;
          }
        | { readonly kind: 'learn' };
    }
  | {
      readonly kind: 'traffic_insufficient';
      readonly progress: BaselineTraffic;
      readonly untilMs: number;
    }
  | ({ readonly kind: 'baseline_built' } & BuiltBaseline)
  | { readonly kind: 'upgrade_insufficient' | 'replay_insufficient' }
  | ({ readonly kind: 'window_measured' } & MeasuredWindow);

export interface RebaselineRequest {
  readonly at: Date;
  /** Reason that is shown to users and stored with the event. */
  readonly reason: string | null;
  /** The new baseline ignores traffic before this time; null if the request sets no such time. */
  readonly since: Date | null;
}

export interface AlertToInvestigate {
  readonly level: AlertLevel;
  readonly raised: Extract<AlertEvent, { kind: 'raised' }>;
  readonly evidenceRatio: number;
  readonly baselineVersion: number;
  /** Windows of the last week, oldest first. The alert fired when the last of these windows closed. */
  readonly history: readonly ClosedWindow[];
}

/** The next state, and the data to store together with it. */
export interface WatchStep {
  readonly state: DensityState;
  readonly measurements?: readonly MeasurementOutcome[];
  readonly windows?: readonly ClosedWindow[];
  /** Events to store. An alert is first investigated, and then stored as an event with the findings. */
  readonly events?: readonly (NewDensityEvent | AlertToInvestigate)[];
  /**
   * Version of a baseline. The stored queries of earlier versions are deleted, because they are personal data; the
   * statistics of these versions remain.
   */
  readonly releaseBefore?: number;
}
