/** What is kept of a world: what was wrong, and what recalld said of it and when. */
import type { Cause, Confidence } from '../../src/incidents/diagnosis/rules/cause.ts';
import type { Effect } from '../../src/incidents/diagnosis/rules/effects.ts';
import type { Size } from './fault.ts';
import type { SentMessage } from './rag-service.ts';
import type { Shape } from './shape.ts';

export interface IncidentRecord {
  readonly opened_at: string;
  readonly closed_at: string | null;
  readonly severity: 'critical' | 'warning';
  readonly diagnosed_at: string;
  readonly cause: Cause;
  readonly confidence: Confidence;
  readonly probability: number;
  readonly alternatives: readonly { readonly cause: Cause; readonly probability: number }[];
  readonly also: readonly { readonly cause: Cause; readonly confidence: Confidence; readonly probability: number }[];
  /** Names of what fired. */
  readonly alerts: readonly string[];
  /** The likeliest first. */
  readonly causes: readonly { readonly cause: Cause; readonly probability: number }[];
  readonly signs: readonly {
    readonly sign: string;
    readonly state: string;
    readonly from: string | null;
    readonly n: number | null;
    readonly weighed: boolean;
  }[];
  /** Firing alerts that can be compared with the time before. */
  readonly effects: readonly Effect[];
  /** Of the golden queries; null without a run. */
  readonly failed_share: number | null;
  readonly summary: string;
}

/** What recalld said after a golden run under the fault. */
export interface Evaluation {
  /** Golden runs since the onset, from 1. */
  readonly run: number;
  /** Of the service by the true judgments, whatever recalld measured. */
  readonly ndcg: number;
  /** Checks that fail. */
  readonly firing: readonly string[];
  /** Open incidents that began after the onset. */
  readonly incidents: readonly IncidentRecord[];
}

export interface MessageRecord extends SentMessage {
  readonly phase: 'fault' | 'recovery';
  /** Since the onset. */
  readonly minutes: number;
}

export interface WorldRecord {
  readonly id: string;
  readonly shape: Shape;
  readonly faults: readonly { readonly kind: string; readonly size: Size; readonly causes: readonly Cause[] }[];
  /** nDCG@10 of the healthy service. */
  readonly healthy: number;
  /** The greatest drop of nDCG@10 that the faults caused at a golden run. */
  readonly drop: number;
  /** Incidents of the healthy history that were open at the onset; there should be none. */
  readonly incidentsBefore: number;
  readonly messagesBefore: number;
  readonly evaluations: readonly Evaluation[];
  readonly messages: readonly MessageRecord[];
  /** Hours from the repair until no incident was open; null: some was until the end. */
  readonly resolvedAfter: number | null;
  /** Checks that fail at the end of the world, and alerts of incidents that are open then. */
  readonly firingAtEnd: readonly string[];
  /** Jobs of the daemon that failed under the fault or after it. */
  readonly failedJobs: readonly string[];
  readonly seconds: number;
  /** Processor time of this process, without that of PostgreSQL. */
  readonly processSeconds: number;
}
