/** Tables and settings for live traffic in the context. */

import type { Pool } from 'pg';
import type { Scope } from '../core/context.ts';
import { createConfiguredItems } from './deployments/configured-items.ts';
import { createAnnotations, createDeployments } from './deployments/deployments.ts';
import type { LivePlan } from './measure-live-traffic.ts';
import { createIsolation } from './sql/isolation-rows.ts';
import { createLiveCandidates, createLiveSamples, createTrafficReads } from './sql/live-samples.ts';
import { createLiveTraffic } from './sql/live-traffic.ts';
import { createLiveWindows } from './sql/live-windows.ts';

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
    /** Starts an export to the configured folder, which removes erased data from its files. Never throws. */
    refreshExport(): void;
  }
  interface Context {
    readonly livePlans: readonly LivePlan[];
    /** Maximum number of samples read per window. */
    readonly maxSamples: number;
  }
}
