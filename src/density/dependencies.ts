/** What the jobs of query density work with: its tables, and what the composition root has opened. */
import { randomBytes } from 'node:crypto';
import type { ThrottleLimits } from '../connectors/throttle/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Clock } from '../core/time.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import { probeEmbedder, probeStore } from '../index/probes/probe-parts.ts';
import type { ProbeDeps } from '../index/probes/probes.ts';
import type { Deployments } from '../live/deployments/deployments.ts';
import { userIdHmac } from '../live/privacy/rules/redactor.ts';
import type { Measurements } from '../measures/measurements.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import type { DensityCompute } from './compute.ts';
import type { densityTables } from './context.ts';
import type { DensityPlan } from './plan.ts';

export interface DensityDeps {
  readonly tables: DensityTables;
  readonly compute: DensityCompute;
  readonly deployments: Pick<Deployments, 'fingerprints'>;
  readonly measurements: Pick<Measurements, 'record'>;
  readonly limits: Pick<ThrottleLimits, 'reserve'>;
  readonly meter: Meter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly plans: readonly DensityPlan[];
  /** What stands for the session of a query that has none. */
  sessionOfNone(queryId: string): string;
  /** Whether golden queries are retrieved worse than in their baseline; null when nobody knows. */
  goldenFell(pipeline: string): Promise<boolean | null>;
  /** Looks at store and embedder, and notes what they are made of. */
  probeParts(plan: DensityPlan, signal: AbortSignal): Promise<void>;
  newTopicId(): string;
}

/** What the composition root has opened. */
interface Opened extends Omit<DensityDeps, 'sessionOfNone' | 'goldenFell' | 'probeParts' | 'newTopicId'> {
  readonly runs: Pick<GoldenRuns, 'latest'>;
  readonly hashKey: string;
  readonly probes: ProbeDeps;
}

export function createDensityDeps({ runs, hashKey, probes, ...opened }: Opened): DensityDeps {
  return {
    ...opened,
    // As the session of a query without one is hashed at its arrival.
    sessionOfNone: (queryId) => userIdHmac(queryId, hashKey),
    goldenFell: async (pipeline) => goldenFell(await runs.latest(), pipeline),
    async probeParts({ pipeline, store, embedder }, signal) {
      await probeStore(probes, pipeline, store, signal);
      if (embedder !== null) await probeEmbedder(probes, pipeline, embedder, signal);
    },
    // Short enough to type: t-3f9a1c2b07.
    newTopicId: () => `t-${randomBytes(5).toString('hex')}`,
  };
}

/**
 * Golden queries as a control group: their questions never change, so that what moves them is the store. Whether the
 * latest golden runs of a pipeline show a fall against their baselines, in any measure over all queries whose 95 %
 * interval lies below 0. Null without a run that was compared.
 */
function goldenFell(latest: readonly LatestRun[], pipeline: string): boolean | null {
  const compared = latest
    .filter((run) => run.pipeline === pipeline)
    .flatMap((run) => run.completed?.baseline?.differences ?? []);
  return compared.length === 0 ? null : compared.some(({ ciHigh }) => ciHigh < 0);
}

/** All that is stored of query density. */
export type DensityTables = ReturnType<typeof densityTables>;
