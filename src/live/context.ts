/** Tables and settings for live traffic, as part of the context. */

import type { Pool } from 'pg';
import type { Scope } from '../core/context.ts';
import { createConfiguredItems } from './deployments/configured-items.ts';
import { createAnnotations, createDeployments } from './deployments/deployments.ts';
import { createIsolation } from './sql/isolation-rows.ts';
import { createLiveCandidates, createLiveSamples, createTrafficReads } from './sql/live-samples.ts';
import { createLiveTraffic } from './sql/live-traffic.ts';
import { createLiveWindows } from './sql/live-windows.ts';

/** Pipeline settings for measuring live traffic and feedback. */
export interface LivePlan {
  readonly pipeline: string;
  readonly windowMs: number;
  /**
   * Length of the baseline before the window, from which expected clicks and the usual share of positive feedback are
   * learned.
   */
  readonly baselineMs: number;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** An episode is closed after this time without a retrieval. */
  readonly idleMs: number;
  /**
   * True if a check requires a measure of episodes. If there are no episodes, the measure is then recorded as having no
   * data, with the reason.
   */
  readonly expectsEpisodes: boolean;
  /** True if all configured sampling rates are 1. */
  readonly samplesAll: boolean;
}

/** @param holder name of this process, unique among all processes that write live traffic */
export function liveTables(pool: Pool, holder: string, scope: Scope) {
  return {
    traffic: createLiveTraffic(pool, holder),
    trafficReads: createTrafficReads(pool),
    isolation: createIsolation(pool, scope),
    samples: createLiveSamples(pool),
    candidates: createLiveCandidates(pool),
    windows: createLiveWindows(pool),
    deployments: createDeployments(pool, scope),
    annotations: createAnnotations(pool, scope),
    configuredItems: createConfiguredItems(pool),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly live: ReturnType<typeof liveTables>;
  }
  interface Hooks {
    /**
     * Schedules an early evaluation of all checks on pipelines with new isolation violations. Never throws, because
     * checks run every minute anyway.
     */
    reportViolations(pipelines: readonly string[]): void;
    /**
     * Starts an export to the configured folder. The export also removes erased data from the files in the folder.
     * Never throws.
     */
    refreshExport(): void;
  }
  interface Context {
    readonly livePlans: readonly LivePlan[];
    /** Maximum number of samples read per window. */
    readonly maxSamples: number;
  }
}
