/** The shapes of the watch over query density: its states, what it observes, what it asks for. `watch.ts` connects them. */

import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import type { AlertEvent, AlertLevel, AlertState, FalsePageBudget } from './alert.ts';
import type { BaselineNeeds, FrozenBaseline, InsufficientBaseline } from './baseline.ts';
import type { FingerprintField, MeasurementFingerprint, Replay } from './measurement-change.ts';
import type { CoverageTotals, WindowSpan, WindowTotals } from './pooled-density.ts';
import type { SessionScores } from './sessions.ts';

/** How the query density of one pipeline is watched. */
export interface WatchSettings {
  readonly pipeline: string;
  readonly windowMs: number;
  /** After the end of a window, until it closes. */
  readonly graceMs: number;
  readonly budget: FalsePageBudget;
  /** Pipelines that are paged together. */
  readonly monitors: number;
  readonly needs: BaselineNeeds;
}

/**
 * Where the watch over a pipeline stands. `learning`: no baseline yet. `replaying`: what is measured with changed, and
 * the queries of the last baseline are being searched anew. `watching`: windows are held against a baseline.
 */
export type DensityPhase =
  | { readonly kind: 'learning'; readonly progress: BaselineProgress }
  | ReplayingPhase
  | WatchingPhase;

export interface ReplayingPhase {
  readonly kind: 'replaying';
  readonly baselineVersion: number;
  /** Of the queries, in epoch milliseconds. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly startedMs: number;
  readonly reason: string;
}

export interface WatchingPhase {
  readonly kind: 'watching';
  readonly baselineVersion: number;
  readonly grade: 'page' | 'provisional';
  /** Of the baseline. */
  readonly days: number;
  readonly sessions: number;
  /** Of its own queries, cross-fitted: near 1, and above it when few questions are repeated. */
  readonly density: number;
  /** End of its period. */
  readonly untilMs: number;
  /** When a provisional baseline is to be replaced by a longer one; null for one of page grade. */
  readonly upgradeMs: number | null;
  readonly alerts: Readonly<Partial<Record<AlertLevel, AlertState>>>;
}

/** How far the traffic is from a baseline. */
export interface BaselineProgress {
  readonly days: number;
  readonly sessions: number;
  /** Why a baseline could not be built although there was enough. */
  readonly problem: InsufficientBaseline['of'] | null;
}

/** Plain values, stored as they are. */
export interface DensityState {
  readonly phase: DensityPhase;
  /** End of the last closed window, in epoch milliseconds. */
  readonly closedMs: number;
  /** Measurements before this time cannot be compared with later ones; null when all can. */
  readonly sinceMs: number | null;
  readonly fingerprint: MeasurementFingerprint;
}

export interface ClosedWindow extends WindowSpan {
  /** When the window was measured; queries that were scored later are late. */
  readonly measuredMs: number;
  /** What it was held against. */
  readonly baselineVersion: number;
  readonly totals: WindowTotals;
  /** By segment; `all` among them. */
  readonly segments: Readonly<Record<string, CoverageTotals>>;
}

export interface MeasuredWindow {
  readonly baseline: FrozenBaseline;
  /** Windows of the last week against the same baseline, in the order of time; the one that closes is the last. */
  readonly history: readonly ClosedWindow[];
  /** Those of the history that late samples were added to. */
  readonly remeasured: readonly ClosedWindow[];
  /** Evidence of the one that closes. */
  readonly scores: SessionScores;
  /** Its queries that could not be measured, by reason. */
  readonly notMeasurable: Readonly<Record<string, number>>;
}

export type DensityEventKind = 'page' | 'ticket' | 'resolve' | 'reset' | 'rebaseline';

/** What people are told of the watch. */
export interface NewDensityEvent {
  readonly kind: DensityEventKind;
  readonly occurredAt: Date;
  /** For people, with the numbers. */
  readonly sentence: string;
  /** Numbers and ids of chunks: no text, no id of a query or a user. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface BuiltBaseline {
  readonly version: number;
  readonly baseline: FrozenBaseline;
  /** Why it was built, for people. */
  readonly reason: string;
  /** Windows that end after this are watched. */
  readonly closedMs: number;
  /** What the event tells beside the baseline. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Baseline queries that were searched a second time. */
export interface RepeatedSearches extends Replay {
  readonly queries: number;
}

/** What happened since the last step. */
export type WatchObservation =
  /** Nothing changed, and more is known of what is measured with. */
  | { readonly kind: 'parts_known'; readonly fingerprint: MeasurementFingerprint }
  | {
      readonly kind: 'parts_changed';
      readonly fingerprint: MeasurementFingerprint;
      readonly changed: readonly FingerprintField[];
      readonly at: Date;
      /** What is to become of the baseline. */
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

/** A person declares: from here on, this is how live queries are covered. */
export interface RebaselineRequest {
  readonly at: Date;
  /** For people; kept with the event. */
  readonly reason: string | null;
  /** Traffic that occurred before then is not taken; null takes the latest there is. */
  readonly since: Date | null;
}

/** What is to be done when the next state is stored. */
export type WatchEffect =
  | { readonly kind: 'record_measurements'; readonly outcomes: readonly MeasurementOutcome[] }
  | { readonly kind: 'store_windows'; readonly windows: readonly ClosedWindow[] }
  | { readonly kind: 'record_event'; readonly event: NewDensityEvent }
  /** Find out what is behind it, and record the event that tells both. */
  | { readonly kind: 'investigate_alert'; readonly alert: AlertToInvestigate }
  /** Of baselines that are no longer used the queries go, which are personal data, and the numbers stay. */
  | { readonly kind: 'release_baselines_before'; readonly version: number };

export interface AlertToInvestigate {
  readonly level: AlertLevel;
  readonly raised: Extract<AlertEvent, { kind: 'raised' }>;
  readonly evidenceRatio: number;
  readonly baselineVersion: number;
  /** Of the last week, the window that raised it last. */
  readonly history: readonly ClosedWindow[];
}

export interface WatchStep {
  readonly state: DensityState;
  readonly effects: readonly WatchEffect[];
}
