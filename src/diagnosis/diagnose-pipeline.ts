/** Looks at a pipeline: what is in alarm, and what is likely behind it. */
import { type CheckStore, readCheckStates } from '../checks/check-store.ts';
import type { Clock } from '../clock.ts';
import type { DensityPlan } from '../density/plan.ts';
import type { TopicsTable } from '../density/topics-table.ts';
import type { StoredDensityState, WatchTable } from '../density/watch-table.ts';
import type { Deployments } from '../deployments/deployments.ts';
import type { Deployment } from '../deployments/rules/deployment.ts';
import type { GoldenRun } from '../golden/rules/run.ts';
import type { StoredRuns } from '../golden/runs/stored-runs.ts';
import type { GoldenBaselines } from '../golden/sql/golden-baselines.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { Logger } from '../logger.ts';
import type { Measurements } from '../measures/measurements.ts';
import type { IntervalOf } from '../measures/rules/measurement.ts';
import { DAY_MS } from '../time.ts';
import { type Alarm, type AlarmFacts, alarmsOf } from './alarms.ts';
import type { Diagnoses, DiagnosisStored } from './diagnoses.ts';
import {
  type Interval,
  lastGood,
  latestEnded,
  observeCanary,
  observeDensity,
  observeLive,
  observeOwnWork,
  observeRecall,
  observeRun,
  observeStore,
  observeTopics,
} from './observe.ts';
import { diagnose, type Findings } from './rules/diagnose.ts';
import type { Diagnosis, StoredDiagnosis } from './rules/episode.ts';
import type { Observations } from './rules/observations.ts';

export interface DiagnoseDeps extends StoredRuns {
  readonly baselines: Pick<GoldenBaselines, 'pinned'>;
  readonly measurements: Pick<Measurements, 'latest' | 'series'>;
  readonly checkStore: Pick<CheckStore, 'standings'>;
  readonly pipelines: readonly WatchedPipeline[];
  readonly deployments: Pick<Deployments, 'list'>;
  readonly densityStates: Pick<WatchTable, 'find' | 'events'>;
  readonly topics: Pick<TopicsTable, 'list'>;
  readonly diagnoses: Diagnoses;
  readonly densityPlans: readonly DensityPlan[];
  readonly intervalSeconds: IntervalOf;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Probes the parts of a pipeline at once, in place of when their schedule would. */
export type ProbeParts = (pipeline: WatchedPipeline, signal: AbortSignal) => Promise<void>;

const MAX_DEPLOYMENTS = 50;

/**
 * Keeps what is likely behind the alarms of a pipeline: opens a diagnosis when something comes to be in alarm, revises
 * it while it lasts, closes it when nothing is any more. May be done again at any time, by any replica.
 *
 * @param probeParts is done once for each episode, so that the parts are seen as they are now
 * @returns null when nothing is in alarm
 */
export async function keepDiagnosis(
  deps: DiagnoseDeps,
  pipeline: WatchedPipeline,
  probeParts: ProbeParts,
  signal: AbortSignal,
): Promise<DiagnosisStored | null> {
  const { clock, diagnoses, logger } = deps;
  const { name } = pipeline;
  const open = await diagnoses.current(name);
  const facts = await readAlarmFacts(deps, name);
  const alarms = alarmsOf(pipeline, facts, clock.now());
  if (alarms.length === 0) {
    // What is never seen well cannot be seen to have changed.
    if (lacksFirstLook(pipeline, facts)) await probeParts(pipeline, signal);
    if (await diagnoses.close(name, clock.now())) logger.info('nothing is in alarm any more', { pipeline: name });
    return null;
  }
  if (open === null) await probeParts(pipeline, signal);
  const at = clock.now();
  const diagnosis = await lookInto(deps, pipeline, alarms, open);
  const stored = await diagnoses.keep(diagnosis, at);
  if (stored !== 'unchanged' && stored !== 'outdated') {
    const { cause, confidence, summary } = diagnosis;
    logger.warn('alarms were diagnosed', { pipeline: name, cause, confidence, summary, change: stored });
  }
  return stored;
}

/** What is likely behind the alarms of a pipeline now, by what is stored; kept nowhere. Null when nothing is in alarm. */
export async function diagnoseNow(deps: DiagnoseDeps, pipeline: WatchedPipeline): Promise<Diagnosis | null> {
  const alarms = await readAlarms(deps, pipeline);
  if (alarms.length === 0) return null;
  return lookInto(deps, pipeline, alarms, await deps.diagnoses.current(pipeline.name));
}

/** What is in alarm on a pipeline now, by what is stored; critical ones first. */
export async function readAlarms(deps: DiagnoseDeps, pipeline: WatchedPipeline): Promise<Alarm[]> {
  return alarmsOf(pipeline, await readAlarmFacts(deps, pipeline.name), deps.clock.now());
}

/** Whether a part that can be probed never was, although golden runs show that all is well. */
function lacksFirstLook({ store, embedder }: WatchedPipeline, { latest, measurements }: AlarmFacts): boolean {
  const isMeasured = (measure: string): boolean => measurements.some((one) => one.measure === measure);
  return (
    latest.some(({ completed }) => completed !== null) &&
    ((store !== null && !isMeasured('store_vectors')) || (embedder !== null && !isMeasured('embedding_canary_median')))
  );
}

/** What is known of a pipeline: what alarms are told from, and what else diagnoses look at. */
interface PipelineFacts extends AlarmFacts {
  readonly plan: DensityPlan | null;
  readonly density: StoredDensityState | null;
}

async function readAlarmFacts(deps: DiagnoseDeps, pipeline: string): Promise<PipelineFacts> {
  const { runs, measurements, densityStates, densityPlans, intervalSeconds, clock } = deps;
  const [latest, checks, measured, density] = await Promise.all([
    runs.latest(),
    readCheckStates(deps),
    measurements.latest(clock.now()),
    densityStates.find(pipeline),
  ]);
  return {
    latest: latest.filter((one) => one.pipeline === pipeline),
    checks,
    measurements: measured.filter((one) => one.pipeline === pipeline),
    plan: densityPlans.find((one) => one.pipeline === pipeline) ?? null,
    density,
    intervalSeconds,
  };
}

async function lookInto(
  deps: DiagnoseDeps,
  pipeline: WatchedPipeline,
  alarms: readonly Alarm[],
  open: StoredDiagnosis | null,
): Promise<Diagnosis> {
  const { name } = pipeline;
  const run = await latestEnded(deps, pipeline, alarms);
  const reference = run === null ? null : await lastGood(deps, run, open?.referenceRunId ?? null);
  const observed = await observe(deps, name, run, reference, open);
  const { cause, confidence, probability, summary, ranked, signs }: Findings = diagnose(observed);
  return {
    pipeline: name,
    cause,
    confidence,
    probability,
    summary,
    alarms: alarms.map((alarm) => alarm.name),
    runId: run?.id ?? null,
    referenceRunId: reference?.id ?? null,
    ranked,
    signs,
  };
}

async function observe(
  deps: DiagnoseDeps,
  pipeline: string,
  run: GoldenRun | null,
  reference: GoldenRun | null,
  open: StoredDiagnosis | null,
): Promise<Observations> {
  const { clock, measurements } = deps;
  const now = clock.now();
  const facts = await readAlarmFacts(deps, pipeline);
  const { measurements: measured, density, plan } = facts;
  const opened = open?.openedAt ?? run?.startedAt ?? now;
  const good = reference?.finishedAt ?? new Date(opened.getTime() - DAY_MS);
  const interval: Interval = { pipeline, good, opened };
  const [observedRun, store, annRecall, canary, deployments, observedDensity, topics, sentinels] = await Promise.all([
    run === null ? null : observeRun(deps, run, reference),
    observeStore(measurements, measured, interval),
    observeRecall(measurements, measured, interval),
    observeCanary(measurements, measured, interval),
    deps.deployments.list({ pipeline, since: reference?.startedAt ?? good, limit: MAX_DEPLOYMENTS }),
    observeDensity(deps.densityStates, pipeline, density, measured),
    plan === null ? null : observeTopics(deps.topics, pipeline),
    deps.runs.latestSentinels(),
  ]);
  const sentinel = sentinels.find((one) => one.pipeline === pipeline && one.goldenSet === run?.goldenSet);
  return {
    run: observedRun,
    live: observeLive(measured),
    store,
    annRecall,
    canary,
    deployments: deployments.filter((one) => isBefore(one, opened)),
    density: observedDensity,
    topics,
    sentinel:
      sentinel?.ended == null || sentinel.ended.finishedAt < good ? null : { hasFallen: sentinel.ended.hasFallen },
    ownWork: observeOwnWork(facts, observedRun, run, now),
  };
}

/** A change that came after the alarm did not bring it about; one that a probe saw may be older than it says. */
function isBefore({ source, occurredAt }: Deployment, opened: Date): boolean {
  return source === 'detected' || occurredAt <= opened;
}
