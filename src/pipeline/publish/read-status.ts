/** Reads what is stored of pipelines and says how they stand. */
import type { Deployment } from '../../core/deployment/deployment.ts';
import type { CheckHistory } from '../../ports/check-history.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DensityStates } from '../../ports/density-states.ts';
import type { Deployments } from '../../ports/deployments.ts';
import type { GoldenBaseline, GoldenBaselines } from '../../ports/golden-baselines.ts';
import type { GoldenRun, GoldenRuns } from '../../ports/golden-runs.ts';
import type { Measurements } from '../../ports/measurements.ts';
import { type CheckState, checkStates, thresholdStates } from '../checks/check-states.ts';
import type { DensityPlan } from '../density/plan.ts';
import { densityStates } from '../density/publish-density.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { type PipelineStatus, pipelineStatus, type StatusFacts } from './pipeline-status.ts';

const DEPLOYMENTS_MS = 7 * 86_400_000;
const MOST_DEPLOYMENTS = 100;

/** What the states of checks are read from. */
export interface ReadChecksDeps extends Pick<StatusFacts, 'intervalSeconds' | 'liveIntervalSeconds'> {
  readonly history: Pick<CheckHistory, 'standings'>;
  readonly densityPlans: readonly DensityPlan[];
  readonly densityStates: Pick<DensityStates, 'all'>;
  readonly pipelines: readonly WatchedPipeline[];
  readonly runs: Pick<GoldenRuns, 'latest'>;
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly clock: Clock;
}

export interface ReadStatusDeps extends ReadChecksDeps {
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
      limit: MOST_DEPLOYMENTS,
    }),
  ]);
  const status = pipelineStatus(pipeline, facts, at);
  const runs = await Promise.all(
    status.golden.map(({ goldenSet }) => readRuns(deps, pipeline.name, goldenSet)),
  );
  return { ...status, at, runs, deployments };
}

/** The state of every configured check: those on golden runs, thresholds, density drift. */
export async function readCheckStates(deps: ReadChecksDeps): Promise<readonly CheckState[]> {
  const now = deps.clock.now();
  const { latest, otherChecks } = await readFacts(deps, now);
  return [...checkStates(deps.pipelines, latest, deps.intervalSeconds, now), ...otherChecks];
}

async function readFacts(deps: ReadChecksDeps, now: Date): Promise<StatusFacts> {
  const { intervalSeconds, liveIntervalSeconds } = deps;
  const [latest, measurements, standings, density] = await Promise.all([
    deps.runs.latest(),
    deps.measurements.latest(now),
    deps.history.standings(),
    deps.densityStates.all(),
  ]);
  const otherChecks = [
    ...thresholdStates(deps.pipelines, standings, now),
    ...densityStates(deps.densityPlans, density, measurements, now),
  ];
  return { latest, measurements, otherChecks, intervalSeconds, liveIntervalSeconds };
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
