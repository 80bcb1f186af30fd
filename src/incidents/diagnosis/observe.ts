/** Reads a pipeline's stored measurements, except golden runs, now and before the alert. */

import type { CheckState } from '../../checks/rules/check-state.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS } from '../../core/time.ts';
import { DENSITY_THRESHOLDS } from '../../density/rules/alert.ts';
import { embeddingCanaryVerdict } from '../../density/rules/measurement-change.ts';
import type { TopicsTable } from '../../density/topics-table.ts';
import type { StoredDensityState, WatchTable } from '../../density/watch-table.ts';
import { failedShare, type GoldenRun } from '../../golden/rules/run.ts';
import { dailyIndexMeasures } from '../../index/truth/measure-index.ts';
import { JUDGE_DRIFT } from '../../judging/judge-drift.ts';
import { LIVE_DROP } from '../../judging/measure-judged.ts';
import {
  MAIN_LANGUAGE,
  MALFORMED,
  PLAIN,
  QUERY_LENGTH,
  REPEATED_QUERIES,
  TOP_QUERY,
} from '../../live/measure-query-mix.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { ageSeconds, INTERVALS_TO_TRUST } from '../../measures/rules/measurement.ts';
import type { LagHistory } from '../../platform/threads/lag-history.ts';
import { type AlertFacts, trusted } from './firing-alerts.ts';
import { estimateOf, valueOf } from './live-alerts.ts';
import { type Around, valueBefore } from './observe-live.ts';
import { ownDelays } from './own-machine.ts';
import { IGNORED_ENDING } from './remove-words.ts';
import { LIVE_REPLAY } from './replay-live-queries.ts';
import { coverageSince } from './rules/coverage-since.ts';
import type {
  Observations,
  ObservedAgreement,
  ObservedCanary,
  ObservedDensity,
  ObservedRecall,
  ObservedRun,
  ObservedTexts,
  ObservedTopic,
  OwnWork,
} from './rules/observations.ts';
import type { ObservedShare } from './rules/observed-live.ts';
import { isStarved } from './rules/own-delays.ts';
import type { Samples } from './rules/samples.ts';
import type { SignName } from './rules/signs.ts';

const MOSTLY_FAILED = 0.5;
/**
 * Finds out whether recalld starts and completes the golden runs of a pipeline, and whether it has enough processor
 * time. Null if no run is overdue and no run has ended.
 */
export function observeOwnWork(
  { latest, intervalSeconds }: Pick<AlertFacts, 'latest' | 'intervalSeconds'>,
  run: Pick<ObservedRun, 'outcomes'> | null,
  ended: GoldenRun | null,
  ownLag: LagHistory | null,
  now: Date,
): OwnWork | null {
  for (const { pipeline, goldenSet, lastAttemptAt } of latest) {
    const interval = intervalSeconds(pipeline, goldenSet);
    if (interval === null) continue;
    const intervals = ageSeconds(lastAttemptAt, now) / interval;
    if (intervals > INTERVALS_TO_TRUST) return { kind: 'overdue', goldenSet, intervals };
  }
  if (ended === null || run === null) return null;
  // A run that failed because of the retriever does not indicate a fault in recalld.
  if (ended.status === 'failed' && failedShare(run.outcomes) < MOSTLY_FAILED)
    return { kind: 'failed', goldenSet: ended.goldenSet, reason: ended.reason ?? 'no reason was recorded.' };
  const delays = ownDelays(ownLag, { from: ended.startedAt, until: ended.finishedAt ?? now });
  return isStarved(delays) ? { kind: 'starved', ...delays } : { kind: 'done' };
}

const MAX_TOPICS = 20;
const MAX_EVENTS = 20;

/**
 * Names of the measures that jobs store, keyed by sign. For a sign with two measures, `observeSamples` uses the earlier
 * start and the smaller sample size.
 */
const measuresOf: Readonly<Partial<Record<SignName, readonly string[]>>> = {
  live_errors: ['error_ratio'],
  live_empty: ['zero_results_ratio'],
  live_results: ['results_per_answer'],
  top_query: [TOP_QUERY],
  repeated_queries: [REPEATED_QUERIES],
  language: [MAIN_LANGUAGE],
  query_length: [QUERY_LENGTH],
  malformed_queries: [MALFORMED],
  query_style: [PLAIN],
  feedback: ['feedback_positive_ratio'],
  live_relevance: [LIVE_DROP],
  judge: [JUDGE_DRIFT],
  store_size: ['store_vectors'],
  ann_recall: ['ann_recall'],
  store_agreement: ['store_agreement'],
  missed_vectors: ['missed_foreign_ratio'],
  missed_texts: ['missed_changed_ratio'],
  returned_documents: ['returned_absent_ratio'],
  live_replay: [LIVE_REPLAY],
  removed_words: [IGNORED_ENDING],
  canary: ['embedding_canary_median'],
  density: ['query_density'],
  index_documents: ['index_missing_ratio'],
  index_retrieval: ['index_not_retrievable_ratio'],
  index_orphans: ['index_orphaned_ratio', 'index_superseded_ratio'],
  index_arrivals: ['index_lag_seconds'],
  index_models: ['index_other_model_ratio'],
};

/**
 * Signs that are not based on a sample, such as counts, embeddings of fixed texts, and grades of fixed pairs of a query
 * and a document. If a sign is based on a sample, a healthy value says nothing about the traffic outside the sample.
 */
const unsampled: ReadonlySet<string> = new Set<SignName>([
  'live_relevance',
  'judge',
  'store_size',
  'canary',
  'density',
  'index_arrivals',
]);

/** Returns the sample size of the latest measurement for each sign, and the start of the period that it covers. */
export function observeSamples(latest: readonly LatestMeasurement[]): Samples {
  const samples = Object.entries(measuresOf).flatMap(([name, measures]) => {
    const newest = measures.flatMap((measure) => {
      const value = latest.find((one) => one.measure === measure && one.segment === ALL_SEGMENT)?.newest ?? null;
      return value === null ? [] : [{ from: startOf(measure, value), n: value.n }];
    });
    if (newest.length === 0) return [];
    const from = new Date(Math.min(...newest.map((one) => one.from.getTime())));
    return [[name, { from, n: unsampled.has(name) ? null : Math.min(...newest.map(({ n }) => n)) }] as const];
  });
  return Object.fromEntries(samples);
}

function startOf(measure: string, { windowStart, measuredAt }: NonNullable<LatestMeasurement['newest']>): Date {
  return dailyIndexMeasures.has(measure) ? new Date(measuredAt.getTime() - DAY_MS) : windowStart;
}

/**
 * Returns the newest value of a probe; null if the value is from before the incident and therefore cannot show the
 * fault.
 */
function probed({ latest, good }: Around, measure: string) {
  const newest = trusted(latest, measure);
  return newest === null || newest.measuredAt < good ? null : newest;
}

export async function observeStore(around: Around): Promise<Observations['store']> {
  const newest = probed(around, 'store_vectors');
  return newest && { before: await valueBefore(around, 'store_vectors'), now: newest.value };
}

export async function observeRecall(around: Around): Promise<ObservedRecall | null> {
  const newest = probed(around, 'ann_recall');
  if (newest === null) return null;
  return { ...estimateOf(newest), before: await valueBefore(around, 'ann_recall'), k: Number(newest.details['k']) };
}

/**
 * Returns how closely the results agree with the store; null if this measure has no value for the run, or no value
 * before the incident.
 */
export async function observeAgreement(around: Around, runId: string | null): Promise<ObservedAgreement | null> {
  const { newest, earlier } = await ofRun(around, 'store_agreement', runId);
  const before = earlier.at(-1);
  if (newest === null || before === undefined) return null;
  const values = earlier.map(({ value }) => value);
  return {
    before: before.value,
    now: newest.value,
    spread: Math.max(...values) - Math.min(...values),
    deep: { before: Number(before.details['deep']), now: Number(newest.details['deep']) },
  };
}

/**
 * Returns a share that compareWithStore measured for a golden run, and the last value of this share before the
 * incident.
 */
export async function observeShareOfRun(
  around: Around,
  measure: 'missed_foreign_ratio' | 'returned_absent_ratio',
  runId: string | null,
): Promise<ObservedShare | null> {
  const { newest, earlier } = await ofRun(around, measure, runId);
  return newest && { ...estimateOf(newest), before: earlier.at(-1)?.value ?? null };
}

/** Returns the share of missed documents whose text changed, and the last value of this share before the incident. */
export async function observeTexts(around: Around, runId: string | null): Promise<ObservedTexts | null> {
  const { newest, earlier } = await ofRun(around, 'missed_changed_ratio', runId);
  const before = earlier.at(-1)?.value ?? null;
  return newest && { ...estimateOf(newest), before, cut: Number(newest.details['cut']) };
}

/** Returns the value for a golden run, and the values of the day before `good`, oldest first. */
async function ofRun({ measurements, latest, pipeline, good }: Around, measure: string, runId: string | null) {
  const newest = valueOf(latest, measure);
  if (newest === null || runId === null || newest.details['run_id'] !== runId) return { newest: null, earlier: [] };
  const from = new Date(good.getTime() - DAY_MS);
  const until = new Date(good.getTime() + 1);
  const earlier = await measurements.series({ pipeline, measure, segment: ALL_SEGMENT }, from, until);
  return { newest, earlier };
}

/**
 * Returns the canary's cosines; null if its texts were first embedded after the onset, because their earlier vectors
 * are unknown.
 */
export async function observeCanary(around: Around): Promise<ObservedCanary | null> {
  const median = probed(around, 'embedding_canary_median');
  const least = trusted(around.latest, 'embedding_canary_min');
  if (median === null || least === null) return null;
  if ((await valueBefore(around, 'embedding_canary_median')) === null) return null;
  const verdict = embeddingCanaryVerdict(median.value, least.value);
  return { median: median.value, least: least.value, verdict };
}

/** Maximum age of the windows that are read. A fault that lasts longer is also visible in the later windows. */
const READ_WINDOWS_MS = 2 * DAY_MS;

/**
 * @param onset start of the fault; a density alert may fire only many windows later, but each of these windows is
 * evidence
 */
export async function observeDensity(
  states: Pick<WatchTable, 'events' | 'windows'>,
  pipeline: string,
  stored: StoredDensityState | null,
  latest: readonly LatestMeasurement[],
  onset: Date,
  now: Date,
): Promise<ObservedDensity | null> {
  const newest = valueOf(latest, 'query_density');
  if (stored?.state.phase.kind !== 'watching' || newest === null) return null;
  const { alerts } = stored.state.phase;
  const incidents = [alerts.page, alerts.ticket].flatMap((alert) => alert?.incident ?? []);
  // The alert resolves only after a day of good coverage, long after the fault was fixed.
  const isBack = newest.value >= DENSITY_THRESHOLDS.ticket;
  const opened = isBack ? [] : incidents.map(({ openedMs }) => openedMs);
  const { baselineVersion } = stored.state.phase;
  // A window is at most one day long, so a window that starts earlier ends before the onset.
  const from = new Date(Math.max(onset.getTime() - DAY_MS, now.getTime() - READ_WINDOWS_MS));
  const windows = await states.windows(pipeline, from);
  const own = windows.filter((window) => window.baselineVersion === baselineVersion);
  const density = { ...estimateOf(newest), since: coverageSince(own, onset) };
  if (opened.length === 0) return { ...density, hasFallen: false, questions: null };
  const events = await states.events({ pipeline, limit: MAX_EVENTS });
  const raised = events.find(
    ({ kind, occurredAt }) => (kind === 'page' || kind === 'ticket') && occurredAt.getTime() >= Math.min(...opened),
  );
  return { ...density, hasFallen: true, questions: raised === undefined ? null : questionsOf(raised.details) };
}

/**
 * Returns `new` if users have asked about new subjects since the drop in coverage, and `same` if they ask about the
 * same subjects as before. A content gap with low confidence means that the poorly covered queries resemble the
 * baseline.
 */
function questionsOf(details: Readonly<Record<string, unknown>>): ObservedDensity['questions'] {
  switch (details['cause']) {
    case 'content_gap':
      return details['cause_confidence'] === 'low' ? 'same' : 'new';
    case 'lost_content':
      return 'same';
    default:
      return null;
  }
}

export async function observeTopics(topics: TopicsTable, pipeline: string): Promise<readonly ObservedTopic[]> {
  const open = await topics.list({ pipeline, states: ['open'], limit: MAX_TOPICS });
  return open.map(({ id, trafficShare, cause }) => ({ id, trafficShare, cause }));
}

/** @param checks check states of the pipeline */
export function observeIsolation(checks: readonly CheckState[]): Observations['isolation'] {
  const violated = checks.filter(({ kind, verdict }) => kind === 'isolation' && verdict === 'critical');
  if (violated.length === 0) return null;
  return {
    rules: violated.map(({ name }) => name),
    answers: violated.reduce((sum, { value }) => sum + (value ?? 0), 0),
  };
}
