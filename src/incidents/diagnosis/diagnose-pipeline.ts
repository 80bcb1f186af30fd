/** Finds the firing alerts of a pipeline and their likely cause, and updates the incident. */

import { readCheckStates } from '../../checks/check-store.ts';
import { ofKind } from '../../checks/rules/golden-checks.ts';
import type { Context } from '../../core/context.ts';
import { DAY_MS, type TimeSpan } from '../../core/time.ts';
import type { DensityPlan } from '../../density/plan.ts';
import type { StoredDensityState } from '../../density/watch-table.ts';
import type { GoldenRun } from '../../golden/rules/run.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { arrivalLag, wrongShares } from '../../index/truth/measure-index.ts';
import type { KnownItem } from '../../live/deployments/configured-items.ts';
import { allOf } from './all-of.ts';
import { PROBES_MS } from './call-retriever.ts';
import {
  type AlertFacts,
  alertsOf,
  carriedOver,
  closingReasonOf,
  hasLeftConfig,
  ISOLATION_ALERT,
  recoveriesOf,
  withoutData,
} from './firing-alerts.ts';
import { firstBadMeasurement } from './first-bad.ts';
import type { RecordOutcome } from './incidents.ts';
import { changedMeasures, unmeasuredChanges } from './live-alerts.ts';
import {
  observeAgreement,
  observeCanary,
  observeDensity,
  observeIsolation,
  observeOwnWork,
  observeRecall,
  observeSamples,
  observeShareOfRun,
  observeStore,
  observeTexts,
  observeTopics,
} from './observe.ts';
import { observeLevel } from './observe-level.ts';
import { observeJudge, observeLive, observeRelevance, observeReplay, observeWords } from './observe-live.ts';
import { starvedAlerts } from './own-machine.ts';
import { findReferenceRun, latestEnded, observeRun, type ReferenceRuns } from './reference-run.ts';
import { areWordsDue } from './remove-words.ts';
import { isReplayDue } from './replay-live-queries.ts';
import { diagnose } from './rules/diagnose.ts';
import { summarizeFiring } from './rules/firing.ts';
import { type Alert, type Diagnosis, type Incident, topicIdsIn, withTopicNames } from './rules/incident.ts';
import type { Observations } from './rules/observations.ts';

/** Probes that run as part of a diagnosis. These functions never reject; they return the errors. */
export interface Probes {
  /** Probes the store, embedder and index of a pipeline now, ahead of schedule. */
  readonly parts: (pipeline: WatchedPipeline, signal: AbortSignal) => Promise<readonly unknown[]>;
  /** Replays live queries from before the incident opened, and from the last hour. */
  readonly replay: (pipeline: WatchedPipeline, openedAt: Date, signal: AbortSignal) => Promise<readonly unknown[]>;
  /** Sends golden queries of a bad run again, with one word removed from each. */
  readonly words: (
    pipeline: WatchedPipeline,
    run: GoldenRun,
    reference: GoldenRun,
    signal: AbortSignal,
  ) => Promise<readonly unknown[]>;
}

const MAX_DEPLOYMENTS = 50;

/** Returns the pipelines that have firing alerts, an open incident, or a store or embedder that was never probed. */
export async function pipelinesToDiagnose(
  context: Context,
  pipelines: readonly WatchedPipeline[],
): Promise<readonly WatchedPipeline[]> {
  const [open, known] = await Promise.all([context.db.incidents.open(), readAlertFacts(context)]);
  return pipelines.filter((pipeline) => {
    const facts = factsOf(known, pipeline.name);
    return (
      open.some((incident) => incident.pipeline === pipeline.name) ||
      alertsOf(pipeline, facts, context.clock.now()).length > 0 ||
      lacksFirstProbe(pipeline, facts)
    );
  });
}

/**
 * Updates the incident of a pipeline: opens it when an alert fires, adds diagnoses while alerts fire, and closes it
 * when all alerts are resolved. Idempotent: any replica may call it at any time.
 *
 * @param probes run when the incident opens; the probes that send queries run again while it is open
 * @returns null if no alert fires, or if all firing alerts belong to an incident that is already resolved
 * @throws AggregateError with the errors of failed probes; the incident is diagnosed first, without these probes
 */
export async function updateIncident(
  context: Context,
  pipeline: WatchedPipeline,
  probes: Probes,
  signal: AbortSignal,
): Promise<RecordOutcome | null> {
  const { clock, db, logger } = context;
  const { name } = pipeline;
  const open = await db.incidents.current(name);
  const facts = await readPipelineFacts(context, name);
  const alerts = firingAlerts(pipeline, facts, open, clock.now());
  if (alerts.length === 0) {
    // A probe detects a change only by comparison with an earlier probe.
    const problems = lacksFirstProbe(pipeline, facts) ? await probes.parts(pipeline, signal) : [];
    const because = closingReasonOf(open?.timeline ?? [], facts.parts);
    if (await db.incidents.close(name, clock.now(), because, recoveriesOf(open?.timeline ?? [], facts)))
      logger.info('all alerts are resolved', { pipeline: name, because });
    throwAny(problems);
    return null;
  }
  if (open === null && (await db.incidents.isEcho(name, alerts, clock.now()))) return null;
  // Probes cannot explain an isolation violation, and its notification must not wait for a slow store.
  const isProbed = alerts.some(({ rule }) => rule !== ISOLATION_ALERT);
  const measured = open === null ? [] : facts.measurements;
  const isReplayed = isReplayDue(alerts, measured, clock.now());
  const openedAt = open?.openedAt ?? clock.now();
  const changed = areWordsDue(alerts, measured, clock.now())
    ? await runsOf(context, pipeline, alerts, open, facts)
    : null;
  const problems = await Promise.all([
    isProbed && open === null ? probes.parts(pipeline, signal) : [],
    isReplayed ? probes.replay(pipeline, openedAt, signal) : [],
    changed?.run && changed.runs.reference?.answersDeletedAt === null
      ? probes.words(pipeline, changed.run, changed.runs.reference, signal)
      : [],
  ]);
  const at = clock.now();
  const seen = open === null || isReplayed || changed !== null ? await readPipelineFacts(context, name) : facts;
  // Alerts may have resolved while the retriever was being called. In that case, the next update, at most 15 seconds
  // later, closes the incident.
  const firing = open === null || seen === facts ? alerts : firingAlerts(pipeline, seen, open, at);
  let stored: RecordOutcome | null = null;
  if (firing.length > 0) {
    const diagnosis = await diagnoseFacts(context, pipeline, firing, open, seen);
    stored = await db.incidents.record(firing, diagnosis, at, recoveriesOf(open?.timeline ?? [], seen));
    if (stored === 'opened' || stored === 'updated') {
      const { cause, confidence, summary } = diagnosis;
      logger.warn('an incident was diagnosed', { pipeline: name, cause, confidence, summary, change: stored });
    }
  }
  throwAny(problems.flat());
  return stored;
}

function throwAny(problems: readonly unknown[]): void {
  if (problems.length > 0) throw new AggregateError(problems);
}

/** Diagnoses the firing alerts of a pipeline without storing the result. Returns null if no alert fires. */
export async function diagnoseNow(context: Context, pipeline: WatchedPipeline): Promise<Diagnosis | null> {
  const open = await context.db.incidents.current(pipeline.name);
  const facts = await readPipelineFacts(context, pipeline.name);
  const alerts = firingAlerts(pipeline, facts, open, context.clock.now());
  if (alerts.length === 0) return null;
  const found = await diagnoseFacts(context, pipeline, alerts, open, facts);
  return withTopicNames(found, await context.db.density.topics.names(topicIdsIn(found)));
}

function firingAlerts(pipeline: WatchedPipeline, facts: PipelineFacts, open: Incident | null, now: Date): Alert[] {
  const { checks, parts } = facts;
  const timeline = open?.timeline ?? [];
  const own = [...alertsOf(pipeline, facts, now), ...withoutData(timeline, facts, pipeline.name, now)];
  const carried = carriedOver(timeline, pipeline.golden, checks, parts).filter(
    ({ name }) => !own.some((one) => one.name === name),
  );
  return [...own, ...carried].filter((alert) => !hasLeftConfig(alert, parts));
}

/** Returns the firing alerts of a pipeline, critical alerts first. */
export async function readAlerts(context: Context, pipeline: WatchedPipeline): Promise<Alert[]> {
  return alertsOf(pipeline, factsOf(await readAlertFacts(context), pipeline.name), context.clock.now());
}

/** Returns true if the store or embedder has never been probed although a golden run completed. */
function lacksFirstProbe({ store, embedder }: WatchedPipeline, { latest, measurements }: AlertFacts): boolean {
  const isMeasured = (measure: string): boolean => measurements.some((one) => one.measure === measure);
  return (
    latest.some(({ completed }) => completed !== null) &&
    ((store !== null && !isMeasured('store_vectors')) || (embedder !== null && !isMeasured('embedding_canary_median')))
  );
}

interface PipelineFacts extends AlertFacts {
  readonly plan: DensityPlan | null;
  readonly density: StoredDensityState | null;
  /** The pipeline's checks and golden sets, from active and former configs. */
  readonly parts: readonly KnownItem[];
}

async function readPipelineFacts(context: Context, pipeline: string): Promise<PipelineFacts> {
  const [known, density, parts] = await Promise.all([
    readAlertFacts(context),
    context.db.density.watch.find(pipeline),
    context.db.live.configuredItems.ofPipeline(pipeline),
  ]);
  return {
    ...factsOf(known, pipeline),
    plan: context.densityPlans.find((one) => one.pipeline === pipeline) ?? null,
    density,
    parts,
  };
}

async function readAlertFacts(context: Context): Promise<AlertFacts> {
  const { db, intervalSeconds, clock } = context;
  const [latest, checks, measured] = await Promise.all([
    db.golden.runs.latest(),
    readCheckStates(context),
    db.measurements.latest(clock.now()),
  ]);
  return { latest, checks, measurements: measured, intervalSeconds, ownLag: context.ownLag };
}

function factsOf({ latest, checks, measurements, ...known }: AlertFacts, pipeline: string): AlertFacts {
  const isOwn = (one: { readonly pipeline: string }): boolean => one.pipeline === pipeline;
  return {
    latest: latest.filter(isOwn),
    checks: checks.filter(isOwn),
    measurements: measurements.filter(isOwn),
    ...known,
  };
}

/** @param open the open incident; null if none has been opened yet */
async function diagnoseFacts(
  context: Context,
  pipeline: WatchedPipeline,
  alerts: readonly Alert[],
  open: Incident | null,
  facts: PipelineFacts,
): Promise<Diagnosis> {
  const { run, runs, firstBad } = await runsOf(context, pipeline, alerts, open, facts);
  const observed = await observe(context, pipeline, facts, run, runs, firstBad, open);
  return {
    ...diagnose(observed),
    pipeline: pipeline.name,
    alerts: alerts.map((alert) => alert.name),
    runId: run?.id ?? null,
    referenceRunId: runs.reference?.id ?? null,
  };
}

/** Returns the golden run to explain, the runs to compare it with, and the first bad measurement. */
async function runsOf(
  context: Context,
  pipeline: WatchedPipeline,
  alerts: readonly Alert[],
  open: Incident | null,
  facts: PipelineFacts,
) {
  const run = await latestEnded(context, pipeline, alerts);
  const firstBad = await firstBadMeasurement(context, pipeline, facts, context.clock.now());
  const regressions = ofKind(pipeline.checks, 'regression');
  const known = open?.referenceRunId ?? null;
  const runs = run === null ? noRuns : await findReferenceRun(context, run, { regressions, firstBad, known });
  return { run, runs, firstBad };
}

const noRuns: ReferenceRuns = { reference: null, bad: [], earlier: [] };

async function observe(
  context: Context,
  pipeline: WatchedPipeline,
  facts: PipelineFacts,
  run: GoldenRun | null,
  runs: ReferenceRuns,
  firstBad: TimeSpan | null,
  open: Incident | null,
): Promise<Observations> {
  const { clock, db } = context;
  const { name } = pipeline;
  const now = clock.now();
  const { measurements: measured, density, plan } = facts;
  const { reference, bad } = runs;
  const began = open?.openedAt ?? run?.startedAt ?? now;
  const times = [began, firstBad?.until, bad.at(-1)?.finishedAt].flatMap((time) => time?.getTime() ?? []);
  const onset = new Date(Math.min(...times));
  const good = reference?.finishedAt ?? new Date(onset.getTime() - DAY_MS);
  const around = { pipeline: name, good, opened: onset, measurements: db.measurements, latest: measured };
  const unmeasured = unmeasuredChanges(open?.timeline ?? [], facts, now).flatMap(
    ({ measured }) => measured?.measure ?? [],
  );
  const kept = withoutData(open?.timeline ?? [], facts, name, now).map((alert) => alert.name);
  const firing = summarizeFiring(name, facts.checks, [...changedMeasures(facts, now), ...unmeasured], kept);
  const isStarved = facts.latest.some((one) => starvedAlerts(one, context.ownLag).length > 0);
  const level = run === null ? null : await observeLevel(db.golden.runs, run, firing, measured);
  const { sentinels, deployments, ...observed } = await allOf({
    run: run && observeRun(context, run, runs, firing.key, level),
    live: observeLive(db.live.windows, around, now),
    liveReplay: observeReplay(around),
    wordEffects: observeWords(around),
    relevance: observeRelevance(around),
    store: observeStore(around),
    annRecall: observeRecall(around),
    storeAgreement: observeAgreement(around, run?.id ?? null),
    missedVectors: observeShareOfRun(around, 'missed_foreign_ratio', run?.id ?? null),
    missedTexts: observeTexts(around, run?.id ?? null),
    returnedAbsent: observeShareOfRun(around, 'returned_absent_ratio', run?.id ?? null),
    canary: observeCanary(around),
    deployments: db.live.deployments.list({
      pipeline: name,
      since: reference?.startedAt ?? good,
      limit: MAX_DEPLOYMENTS,
    }),
    density: observeDensity(db.density.watch, name, density, measured, onset, now),
    topics: plan && observeTopics(db.density.topics, name),
    sentinels: db.golden.runs.latestSentinels(),
  });
  const sentinel = sentinels.find((one) => one.pipeline === name && one.goldenSet === run?.goldenSet);
  const { live } = observed;
  return {
    ...observed,
    firing: isStarved ? [...firing.effects, 'runs'] : firing.effects,
    // Includes the probes of the store, embedder and index, which run just before an incident opens.
    onset: new Date(onset.getTime() - PROBES_MS),
    samples: {
      ...observeSamples(measured),
      ...(live.latency === null ? {} : { live_latency: { from: onset, n: live.latency.n } }),
      ...(observed.density?.since == null ? {} : { density: { from: observed.density.since.from, n: null } }),
    },
    judge: observeJudge(measured, deployments),
    index: wrongShares(measured, now),
    arrivals: arrivalLag(measured, now),
    // A deployment that was annotated with a time after the first bad measurement is not the cause. A detected change
    // may be the cause even if it was recorded later, because it happened before the probe that recorded it.
    deployments: deployments.filter(({ source, occurredAt }) => source === 'detected' || occurredAt <= onset),
    isolation: observeIsolation(facts.checks),
    sentinel:
      sentinel?.ended == null || sentinel.ended.finishedAt < good ? null : { hasFallen: sentinel.ended.hasFailed },
    ownWork: observeOwnWork(facts, observed.run, run, context.ownLag, now),
  };
}

export interface PipelineDiagnosis {
  readonly pipeline: string;
  /** The latest stored incident; null if the pipeline never had one. */
  readonly latest: Incident | null;
  /** Current diagnosis from stored data; null if no alert fires. */
  readonly now: Diagnosis | null;
}

/** @param only name of one pipeline; null for all pipelines */
export async function readDiagnoses(context: Context, only: string | null): Promise<readonly PipelineDiagnosis[]> {
  const answers: PipelineDiagnosis[] = [];
  for (const pipeline of context.pipelines.filter(({ name }) => only === null || name === only)) {
    const [latest = null] = await context.db.incidents.list({ pipeline: pipeline.name, limit: 1 });
    answers.push({ pipeline: pipeline.name, latest, now: await diagnoseNow(context, pipeline) });
  }
  return answers;
}
