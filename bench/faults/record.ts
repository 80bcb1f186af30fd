/** The record of a world: its faults, and what recalld reported and when. */
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
  /** Names of the firing alerts. */
  readonly alerts: readonly string[];
  /** Ranked causes, most likely first. */
  readonly causes: readonly { readonly cause: Cause; readonly probability: number }[];
  readonly signs: readonly {
    readonly sign: string;
    readonly state: string;
    readonly from: string | null;
    readonly n: number | null;
    readonly weighed: boolean;
  }[];
  /** Firing alerts whose values can be compared with the values before the onset. */
  readonly effects: readonly Effect[];
  /** Share of the golden queries that failed; null if there was no run. */
  readonly failed_share: number | null;
  readonly summary: string;
}

/** What recalld reported after a golden run under the fault. */
export interface Evaluation {
  /** Position of the golden run among the runs since the onset; the first run is 1. */
  readonly run: number;
  /** nDCG@10 of the service according to the true judgments, independent of recalld's measurements. */
  readonly ndcg: number;
  /** Failing checks. */
  readonly firing: readonly string[];
  /** Open incidents that started after the onset. */
  readonly incidents: readonly IncidentRecord[];
}

export interface MessageRecord extends SentMessage {
  readonly phase: 'fault' | 'recovery';
  /** Minutes since the onset of the fault. */
  readonly minutes: number;
}

export interface WorldRecord {
  readonly id: string;
  readonly shape: Shape;
  readonly faults: readonly { readonly kind: string; readonly size: Size; readonly causes: readonly Cause[] }[];
  /** nDCG@10 of the healthy service. */
  readonly healthy: number;
  /** Largest drop in nDCG@10 that the faults caused in a golden run. */
  readonly drop: number;
  /** Number of incidents from the healthy history that were open at the onset; there should be none. */
  readonly incidentsBefore: number;
  readonly messagesBefore: number;
  readonly evaluations: readonly Evaluation[];
  readonly messages: readonly MessageRecord[];
  /** Hours from the repair until no incident was open; null if an incident stayed open. */
  readonly resolvedAfter: number | null;
  /**
   * Names of the checks that fail when the world ends, and names of the alerts whose incidents are still open then.
   */
  readonly firingAtEnd: readonly string[];
  /** Names of the daemon jobs that failed during or after the fault. */
  readonly failedJobs: readonly string[];
  readonly seconds: number;
  /** CPU time of this process in seconds, excluding PostgreSQL. */
  readonly processSeconds: number;
}
