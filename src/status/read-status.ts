/** Reads what is stored of pipelines and says how they stand. */
import { type ReadChecksDeps, statesOf } from '../checks/check-store.ts';
import type { Deployments } from '../deployments/deployments.ts';
import type { Deployment } from '../deployments/rules/deployment.ts';
import type { GoldenRun } from '../golden/rules/run.ts';
import type { GoldenBaseline, GoldenBaselines } from '../golden/sql/golden-baselines.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { Measurements } from '../measures/measurements.ts';
import { DAY_MS } from '../time.ts';
import { type PipelineStatus, pipelineStatus, type StatusFacts } from './pipeline-status.ts';

const DEPLOYMENTS_MS = 7 * DAY_MS;
const MAX_DEPLOYMENTS = 100;

export interface ReadStatusDeps extends ReadChecksDeps, Pick<StatusFacts, 'intervalSeconds' | 'liveIntervalSeconds'> {
  readonly pipelines: readonly WatchedPipeline[];
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly runs: Pick<GoldenRuns, 'latest' | 'list'>;
  readonly baselines: Pick<GoldenBaselines, 'pinned'>;
  readonly deployments: Pick<Deployments, 'list'>;
}

/** The runs behind the scores of a golden set. */
export interface GoldenSetRuns {
  readonly goldenSet: string;
  readonly latest: GoldenRun | null;
  readonly latestCompleted: GoldenRun | null;
  /** Null when none is pinned. */
  readonly baseline: GoldenBaseline | null;
}

export interface DetailedStatus extends PipelineStatus {
  readonly at: Date;
  readonly runs: readonly GoldenSetRuns[];
  /** Of the last seven days, newest first. */
  readonly deployments: readonly Deployment[];
}

/** How every pipeline of the config stands, in its order. */
export async function readStatuses(deps: ReadStatusDeps): Promise<readonly PipelineStatus[]> {
  const now = deps.clock.now();
  const facts = await readFacts(deps, now);
  return deps.pipelines.map((pipeline) => pipelineStatus(pipeline, facts, now));
}

/** How one pipeline stands, with what is needed to look further. */
export async function readStatus(deps: ReadStatusDeps, pipeline: WatchedPipeline): Promise<DetailedStatus> {
  const at = deps.clock.now();
  const [facts, deployments] = await Promise.all([
    readFacts(deps, at),
    deps.deployments.list({
      pipeline: pipeline.name,
      since: new Date(at.getTime() - DEPLOYMENTS_MS),
      limit: MAX_DEPLOYMENTS,
    }),
  ]);
  const status = pipelineStatus(pipeline, facts, at);
  const runs = await Promise.all(status.golden.map(({ goldenSet }) => readRuns(deps, pipeline.name, goldenSet)));
  return { ...status, at, runs, deployments };
}

async function readFacts(deps: ReadStatusDeps, now: Date): Promise<StatusFacts> {
  const { intervalSeconds, liveIntervalSeconds } = deps;
  const [latest, measurements, standings] = await Promise.all([
    deps.runs.latest(),
    deps.measurements.latest(now),
    deps.checkStore.standings(),
  ]);
  return {
    latest,
    measurements,
    checks: statesOf(deps, standings, now),
    intervalSeconds,
    liveIntervalSeconds,
  };
}

async function readRuns(
  { runs, baselines }: ReadStatusDeps,
  pipeline: string,
  goldenSet: string,
): Promise<GoldenSetRuns> {
  const [[latest], [latestCompleted], baseline] = await Promise.all([
    runs.list({ pipeline, goldenSet, limit: 1 }),
    runs.list({ pipeline, goldenSet, status: 'completed', limit: 1 }),
    baselines.pinned(pipeline, goldenSet),
  ]);
  return { goldenSet, latest: latest ?? null, latestCompleted: latestCompleted ?? null, baseline };
}
