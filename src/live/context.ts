/** What live traffic adds to the context. */
import type { Pool } from 'pg';
import { createConfiguredParts } from './deployments/configured-parts.ts';
import { createAnnotations, createDeployments } from './deployments/deployments.ts';
import type { LivePlan } from './measure-live-traffic.ts';
import { createLiveCandidates, createLiveSamples, createTrafficReads } from './sql/live-samples.ts';
import { createLiveTraffic } from './sql/live-traffic.ts';
import { createLiveWindows } from './sql/live-windows.ts';

/** @param holder names this process among those that write live traffic */
export function liveTables(pool: Pool, holder: string) {
  return {
    traffic: createLiveTraffic(pool, holder),
    trafficReads: createTrafficReads(pool),
    samples: createLiveSamples(pool),
    candidates: createLiveCandidates(pool),
    windows: createLiveWindows(pool),
    deployments: createDeployments(pool),
    annotations: createAnnotations(pool),
    parts: createConfiguredParts(pool),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly live: ReturnType<typeof liveTables>;
  }
  interface Context {
    /** How the live traffic of each pipeline is measured. */
    readonly livePlans: readonly LivePlan[];
    /** Samples of a window that are read, at most. */
    readonly maxSamples: number;
  }
}
