/** Types of density monitoring: states, observations and effects. `watch.ts` connects them. */

import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import type { AlertEvent, AlertLevel, AlertState, FalsePageBudget } from './alert.ts';
import type { BaselineNeeds, FrozenBaseline, InsufficientBaseline } from './baseline.ts';
import type { FingerprintField, MeasurementFingerprint, Replay } from './measurement-change.ts';
import type { CoverageTotals, WindowSpan, WindowTotals } from './pooled-density.ts';
import type { SessionScores } from './sessions.ts';

/** Monitoring settings of one pipeline. */
export interface WatchSettings {
  readonly pipeline: string;
  readonly windowMs: number;
  /** Time from the end of a window until it closes. */
  readonly graceMs: number;
  readonly budget: FalsePageBudget;
  /** Number of pipelines that share the budget. */
  readonly monitors: number;
  readonly needs: BaselineNeeds;
}

/**
 * Phase of monitoring. `learning`: no baseline yet. `replaying`: index or embedder changed, and the queries of the last
 * baseline are being searched again. `watching`: windows are compared with a baseline.
 */
export type DensityPhase =
  | { readonly kind: 'learning'; readonly progress: BaselineProgress }
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
  /** Length and sessions of the baseline. */
  readonly days: number;
  readonly sessions: number;
  /** Density of its own queries, cross-fitted: near 1, and above 1 if few queries repeat. */
  readonly density: number;
  /** End of the baseline period. */
  readonly untilMs: number;
  /** When to replace a provisional baseline by a longer one; null for page grade. */
  readonly upgradeMs: number | null;
  readonly alerts: Readonly<Partial<Record<AlertLevel, AlertState>>>;
}

/** Progress towards a baseline. */
export interface BaselineProgress {
  readonly days: number;
  readonly sessions: number;
  /** Why no baseline could be built despite enough traffic. */
  readonly problem: InsufficientBaseline['of'] | null;
}

/** Stored as JSON. */
export interface DensityState {
  readonly phase: DensityPhase;
  /** End of the last closed window, in epoch milliseconds. */
  readonly closedMs: number;
  /** Earlier measurements are not comparable with later ones; null if all are. */
  readonly sinceMs: number | null;
  readonly fingerprint: MeasurementFingerprint;
}

export interface ClosedWindow extends WindowSpan {
  /** When the window was measured; queries scored later are late. */
  readonly measuredMs: number;
  /** Baseline that it was compared with. */
  readonly baselineVersion: number;
  readonly totals: WindowTotals;
  /** By segment, including `all`. */
  readonly segments: Readonly<Record<string, CoverageTotals>>;
}

export interface MeasuredWindow {
  readonly baseline: FrozenBaseline;
  /** Windows of the last week with the same baseline, in order; the closing one is last. */
  readonly history: readonly ClosedWindow[];
  /** Windows of the history that received late samples. */
  readonly remeasured: readonly ClosedWindow[];
  /** Detector input of the closing window. */
  readonly scores: SessionScores;
  /** Its queries that were not measurable, by reason. */
  readonly notMeasurable: Readonly<Record<string, number>>;
}

export type DensityEventKind = 'page' | 'ticket' | 'resolve' | 'reset' | 'rebaseline';

/** An event shown to people. */
export interface NewDensityEvent {
  readonly kind: DensityEventKind;
  readonly occurredAt: Date;
  /** Description with numbers. */
  readonly sentence: string;
  /** Numbers and chunk ids; no texts, and no ids of queries or users. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface BuiltBaseline {
  readonly version: number;
  readonly baseline: FrozenBaseline;
  /** Why it was built, as shown to people. */
  readonly reason: string;
  /** Windows that end later are monitored. */
  readonly closedMs: number;
  /** Further details of the event. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Baseline queries that were searched again. */
export interface RepeatedSearches extends Replay {
  readonly queries: number;
}

/** What happened since the last step. */
export type WatchObservation =
  /** No change, but more of the fingerprint became known. */
  | { readonly kind: 'measurement_identified'; readonly fingerprint: MeasurementFingerprint }
  | {
      readonly kind: 'measurement_changed';
      readonly fingerprint: MeasurementFingerprint;
      readonly changed: readonly FingerprintField[];
      readonly at: Date;
      /** Consequence for the baseline. */
      readonly consequence:
        | { readonly kind: 'keep'; readonly searched: RepeatedSearches }
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
      readonly progress: BaselineProgress;
      readonly untilMs: number;
    }
  | ({ readonly kind: 'baseline_built' } & BuiltBaseline)
  | { readonly kind: 'upgrade_insufficient' | 'replay_insufficient' }
  | ({ readonly kind: 'window_measured' } & MeasuredWindow);

/** Manual request for a new baseline. */
export interface RebaselineRequest {
  readonly at: Date;
  /** Shown to people and stored with the event. */
  readonly reason: string | null;
  /** Ignores earlier traffic; null uses the latest traffic. */
  readonly since: Date | null;
}

/** Effects to apply when the next state is stored. */
export type WatchEffect =
  | { readonly kind: 'record_measurements'; readonly outcomes: readonly MeasurementOutcome[] }
  | { readonly kind: 'store_windows'; readonly windows: readonly ClosedWindow[] }
  | { readonly kind: 'record_event'; readonly event: NewDensityEvent }
  /** Investigate the alert and record an event with the findings. */
  | { readonly kind: 'investigate_alert'; readonly alert: AlertToInvestigate }
  /** Delete the queries of unused baselines, which are personal data; their statistics stay. */
  | { readonly kind: 'release_baselines_before'; readonly version: number };

export interface AlertToInvestigate {
  readonly level: AlertLevel;
  readonly raised: Extract<AlertEvent, { kind: 'raised' }>;
  readonly evidenceRatio: number;
  readonly baselineVersion: number;
  /** Windows of the last week; the one that fired the alert is last. */
  readonly history: readonly ClosedWindow[];
}

export interface WatchStep {
  readonly state: DensityState;
  readonly effects: readonly WatchEffect[];
}
