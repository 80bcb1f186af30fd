import type { AlarmLevel } from '../core/drift/alarm/alarm-levels.ts';
import type { AlarmState } from '../core/drift/alarm/alarm-policy.ts';
import type { InsufficientBaseline } from '../core/drift/baseline/baseline.ts';
import type { MeasurementFingerprint } from '../core/drift/baseline/rebaseline-rule.ts';
import type { WindowSpan } from '../core/drift/coverage/evidence-windows.ts';
import type { CoverageTotals } from '../core/drift/coverage/pooled-coverage.ts';
import type { WindowTotals } from '../core/drift/coverage/pooled-density.ts';

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
  readonly alarms: Readonly<Partial<Record<AlarmLevel, AlarmState>>>;
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

export interface StoredDensityState {
  readonly state: DensityState;
  /** 0 before it is stored. */
  readonly revision: number;
  readonly updatedAt: Date;
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

export type DensityEventKind = 'page' | 'ticket' | 'resolve' | 'reset' | 'rebaseline';

export interface NewDensityEvent {
  readonly kind: DensityEventKind;
  readonly occurredAt: Date;
  /** For people, with the numbers. */
  readonly sentence: string;
  /** Numbers and ids of chunks: no text, no id of a query or a user. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface DensityEvent extends NewDensityEvent {
  readonly id: string;
  readonly pipeline: string;
}

export interface DensityStep {
  readonly pipeline: string;
  /** Of the state that the step started from. */
  readonly revision: number;
  readonly state: DensityState;
  /** The window that closes, after earlier ones that late samples were added to; empty when none closes. */
  readonly windows: readonly ClosedWindow[];
  readonly events: readonly NewDensityEvent[];
  readonly at: Date;
}

/** The watch over query density, advanced one step at a time. */
export interface DensityStates {
  /** Of every pipeline that was ever watched. */
  all(): Promise<ReadonlyMap<string, StoredDensityState>>;
  find(pipeline: string): Promise<StoredDensityState | null>;
  /**
   * Takes one step: state, windows and events, all or nothing.
   *
   * @returns false when another worker took a step from the same revision; then nothing is stored
   */
  advance(step: DensityStep): Promise<boolean>;
  /** Closed windows that started from then on, in the order of time. */
  windows(pipeline: string, from: Date): Promise<readonly ClosedWindow[]>;
  /** Newest first. */
  events(filter: {
    readonly pipeline?: string;
    readonly before?: string;
    readonly limit: number;
  }): Promise<readonly DensityEvent[]>;
}
