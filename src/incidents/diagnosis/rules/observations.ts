/**
 * Observations of a pipeline around an alert: its latest golden runs, the last good run, much older runs, and whether
 * consecutive bad runs agree. Null means that nothing was measured; a missing measurement is not evidence.
 */

import type { TopicCause } from '../../../density/rules/cause.ts';
import type { CanaryVerdict } from '../../../density/rules/measurement-change.ts';
import type { ComparedSide } from '../../../golden/rules/compare-golden-runs.ts';
import type { OutcomeCounts, QueryAnswer, QueryContext } from '../../../golden/rules/run.ts';
import { runFailure } from '../../../golden/rules/run-failure.ts';
import type { RunMetricKey } from '../../../golden/rules/score-run.ts';
import type { ArrivalLag, WrongShare } from '../../../index/truth/rules/findings.ts';
import type { DropState } from '../../../judging/rules/judged-mean.ts';
import type { measuresOfScore } from '../../../judging/rules/judged-measures.ts';
import type { ScoredMeasure } from '../../../judging/rules/judged-scores.ts';
import type { Deployment } from '../../../live/deployments/rules/deployment.ts';
import { mean } from '../../../math/stats/descriptive.ts';
import { type OlderRun, olderAnswers, repeatedAnswers } from './answers-alike.ts';
import { changedAnswers, type StagedSide, scoreLoss, stageLoss, widestNdcg } from './changed-answers.ts';
import type { CoverageSince } from './coverage-since.ts';
import type { EffectKind } from './effects.ts';
import type { LiveList } from './foreign-lists.ts';
import type { EstimatedValue, ObservedLive, ObservedReplay, ObservedShare, ObservedValue } from './observed-live.ts';
import type { OwnDelays } from './own-delays.ts';
import type { WordEffects } from './removed-words.ts';
import type { Samples } from './samples.ts';

export interface Observations {
  /** Effects of the failing checks; null if unknown. */
  readonly firing: readonly EffectKind[] | null;
  /** Time of the first bad measurement; null if unknown. */
  readonly onset: Date | null;
  /** Samples from which the signs were measured. */
  readonly samples: Samples;
  /** The golden run to explain; null if no golden set fails and no run has ended. */
  readonly run: ObservedRun | null;
  readonly live: ObservedLive;
  /** Judged relevance of live queries; null if live queries are not judged, or if there is no trusted value now. */
  readonly relevance: ObservedRelevance | null;
  /**
   * `same` if the judge of live queries grades as before, otherwise `changed`; null if there is no judge, or if neither
   * is certain.
   */
  readonly judge: 'same' | 'changed' | null;
  readonly store: { readonly before: number | null; readonly now: number } | null;
  readonly annRecall: ObservedRecall | null;
  /**
   * Agreement of the results with the store; null if this measure has no value for the run, or none before the
   * incident.
   */
  readonly storeAgreement: ObservedAgreement | null;
  readonly liveReplay: ObservedReplay | null;
  /** Effects of removing one word from golden queries. */
  readonly wordEffects: WordEffects | null;
  /** Share of the documents missed by the run whose stored vector does not match their text. */
  readonly missedVectors: ObservedShare | null;
  /** Share of the documents missed by the run whose text changed. */
  readonly missedTexts: ObservedTexts | null;
  /** Share of the returned documents that the store does not have. */
  readonly returnedAbsent: ObservedShare | null;
  readonly canary: ObservedCanary | null;
  /** Shares of affected documents by kind of index finding; empty if no index checks are configured. */
  readonly index: readonly WrongShare[];
  /** Delay until changes in the manifest reach the store; null without index checks, or with too few changes. */
  readonly arrivals: ArrivalLag | null;
  /** Deployments since the last good evaluation, whether annotated or detected, newest first. */
  readonly deployments: readonly Deployment[];
  /**
   * Isolation rules that were violated in the last hour, and the number of violating result lists; null if no rule was
   * violated.
   */
  readonly isolation: { readonly rules: readonly string[]; readonly answers: number } | null;
  readonly density: ObservedDensity | null;
  /** Open topics that are not acknowledged, largest first; null if density is not monitored. */
  readonly topics: readonly ObservedTopic[] | null;
  readonly sentinel: { readonly hasFallen: boolean } | null;
  readonly ownWork: OwnWork | null;
}

export interface ObservedLevel {
  /** Metric key, such as `ndcg@10`. */
  readonly measure: string;
  readonly now: number;
  /** Value in the golden set's first completed run, which may be this run. */
  readonly first: number;
  readonly threshold: number;
  /**
   * Judged live score of the same name or, without such a score, the share of positive feedback; null if there is
   * neither.
   */
  readonly opinions: (EstimatedValue & { readonly by: 'judge' | 'users' }) | null;
}

/**
 * Numbers of distinct judged documents: those that were looked up (`probed`) and, among these, the superseded or
 * deleted ones (`stale`), the deleted ones alone (`deleted`) and the lost ones (`lost`).
 */
export type ObservedLabels = Readonly<Record<'probed' | 'stale' | 'deleted' | 'lost', number>>;

export type ObservedRelevance =
  /** A judged live score whose whole confidence interval is below its earlier value. */
  | (ObservedValue & { readonly state: 'below'; readonly measure: (typeof measuresOfScore)[ScoredMeasure][0] })
  /** Drop in judged live nDCG compared with the preceding weeks. */
  | (EstimatedValue & { readonly state: DropState });

export interface ObservedRecall extends EstimatedValue {
  readonly before: number | null;
  readonly k: number;
}

export interface ObservedTexts extends ObservedShare {
  /** Number of documents whose text is now a part of their earlier text. */
  readonly cut: number;
}

export interface ObservedAgreement {
  readonly before: number;
  readonly now: number;
  /** Largest minus smallest agreement on the day before the incident. */
  readonly spread: number;
  /** Earlier and current agreement with several times as many nearest chunks in the store. */
  readonly deep: { readonly before: number; readonly now: number };
}

export interface ObservedCanary {
  readonly median: number;
  readonly least: number;
  readonly verdict: CanaryVerdict;
}

export interface ObservedDensity extends EstimatedValue {
  /** True if the density alert fires and recalld has measured no recovery. */
  readonly hasFallen: boolean;
  /** How the density alert classified the queries; null if it did not classify them. */
  readonly questions: 'new' | 'same' | null;
  /** Coverage in the windows that lie mostly after the onset; null if these windows are inconclusive. */
  readonly since: CoverageSince | null;
}

export interface ObservedTopic {
  readonly id: string;
  readonly trafficShare: number;
  readonly cause: TopicCause;
}

export type OwnWork =
  | { readonly kind: 'done' }
  /** `starved`: delays in recalld made the measured latencies of the run too long. */
  | ({ readonly kind: 'starved' } & OwnDelays)
  /** `overdue`: no golden run has started for a number of scheduled intervals (`intervals`). */
  | { readonly kind: 'overdue'; readonly goldenSet: string; readonly intervals: number }
  /** `failed`: a golden run did not complete although the retriever responded. */
  | { readonly kind: 'failed'; readonly goldenSet: string; readonly reason: string };

export interface RunsSeen {
  readonly goldenSet: string;
  readonly now: ComparedSide;
  readonly labels: ObservedLabels | null;
  /**
   * `asked`: number of successful queries for which documents are forbidden. `results`: number of forbidden documents
   * that were returned. Null if the golden set forbids no documents.
   */
  readonly forbidden: { readonly asked: number; readonly results: number } | null;
  /** Ids of queries with a superseded or deleted judged document. */
  readonly stale: ReadonlySet<string>;
  /** Ids of queries with a lost judged document. */
  readonly lost: ReadonlySet<string>;
  /** Key of the failing measure of golden runs; null if no such measure fails. */
  readonly key: RunMetricKey | null;
  /**
   * Values of the measure that is below its threshold, in this run and in the first run of the golden set; null if no
   * measure is below its threshold.
   */
  readonly level: ObservedLevel | null;
  readonly reference: {
    readonly side: ComparedSide;
    readonly version: number;
    readonly isSameVersion: boolean;
    /** Numbers of judged documents at the time of the reference run; null if unknown. */
    readonly labels: ObservedLabels | null;
    /** Stages of both runs, keyed by query id; null if the retriever returned no stages in either run. */
    readonly stages: Readonly<Record<'before' | 'now', StagedSide['stages']>> | null;
    /** Text sizes of the results of both runs; empty if the retriever returns no texts. */
    readonly contexts: Readonly<Record<'before' | 'now', readonly QueryContext[]>>;
  } | null;
  /** The preceding bad run; null if there is none. */
  readonly previous: ComparedSide | null;
  /** Good runs before the reference run. */
  readonly older: readonly OlderRun[];
  /** Results of live queries from before the reference run. */
  readonly live: readonly LiveList[];
}

export type ObservedRun = ReturnType<typeof observedRun>;
/** Comparison with the last good run or, if there is none, with the baseline. */
export type ObservedReference = NonNullable<ObservedRun['reference']>;

export function observedRun(seen: RunsSeen) {
  const { goldenSet, now, labels, forbidden, level, reference } = seen;
  return {
    goldenSet,
    labels,
    forbidden,
    level,
    outcomes: countOutcomes(now.answers),
    /**
     * The first error among the queries that were sent, and the number of queries with it; null without failures.
     */
    failure: runFailure(now.answers),
    latency95Ms: latency95(now.answers),
    slow: slowQueries(now),
    returned: returnedBy(now),
    reference: reference && comparedRuns(seen, reference),
  };
}

function comparedRuns(
  { now, stale, lost, key, previous, older, live }: RunsSeen,
  { side, stages, contexts, ...known }: NonNullable<RunsSeen['reference']>,
) {
  const isScored = key !== null && [side, now].every(({ settings }) => settings.cutoffs.includes(key.k));
  const measure = isScored ? key : widestNdcg(side, now);
  return {
    ...known,
    latency95Ms: latency95(side.answers),
    answers: changedAnswers(side, now, stale, measure, live),
    /** Loss in the failing measure; null if there are no queries. */
    loss: scoreLoss(side, now, { stale, lost }, measure),
    stages: stages && stageLoss({ ...side, stages: stages.before }, { ...now, stages: stages.now }, stale),
    texts: textsOf(contexts, side, now),
    previous: previous && { answers: repeatedAnswers(side, previous, now), latency95Ms: latency95(previous.answers) },
    older: olderAnswers(older, side, now),
  };
}

/** Minimum number of result lists with texts. Means over fewer lists are not meaningful. */
const MIN_TEXTS = 10;

/** Returns the mean lengths of the returned texts; null if the retriever returned too few texts in either run. */
function textsOf(
  { before, now }: NonNullable<RunsSeen['reference']>['contexts'],
  earlier: ComparedSide,
  later: ComparedSide,
) {
  if (before.length < MIN_TEXTS || now.length < MIN_TEXTS) return null;
  const same = sameResults(earlier, later);
  const [old, current] = [before, now].map((contexts) => contexts.filter(({ queryId }) => same.has(queryId)));
  const isEnough = Math.min(old?.length ?? 0, current?.length ?? 0) >= MIN_TEXTS;
  return {
    before: meanTexts(before),
    now: meanTexts(now),
    /** Mean lengths for the queries with the same documents in both runs; null if there are too few. */
    same: isEnough ? { before: meanTexts(old ?? []), now: meanTexts(current ?? []) } : null,
  };
}

/** Returns the ids of the queries for which both runs returned the same documents, in any order. */
function sameResults(before: ComparedSide, now: ComparedSide): ReadonlySet<string> {
  const old = new Map(before.answers.map((answer) => [answer.queryId, idsOf(answer)]));
  return new Set(now.answers.flatMap((answer) => (old.get(answer.queryId) === idsOf(answer) ? [answer.queryId] : [])));
}

function idsOf({ documents }: QueryAnswer): string {
  return JSON.stringify(documents.map(({ id }) => id).toSorted());
}

function meanTexts(contexts: readonly QueryContext[]) {
  return {
    characters: mean(contexts.map(({ characters }) => characters)),
    /** Share of the text that repeats earlier text in the same result list. */
    repeated: mean(contexts.map(({ repeated }) => repeated)),
  };
}

function countOutcomes(answers: readonly QueryAnswer[]): OutcomeCounts {
  const counts = { ok: 0, empty: 0, error: 0, timeout: 0 };
  for (const { outcome } of answers) counts[outcome] += 1;
  return counts;
}

/** 95th-percentile latency of the successful queries, in milliseconds. */
function latency95(answers: readonly QueryAnswer[]): number | null {
  const latencies = answers
    .flatMap(({ outcome, latencyMs }) => (outcome === 'ok' || outcome === 'empty' ? (latencyMs ?? []) : []))
    .toSorted((a, b) => a - b);
  return latencies[Math.ceil(0.95 * latencies.length) - 1] ?? null;
}

const MIN_TIMED = 20;
/**
 * A query took far longer than usual if its latency is at least twice the usual latency and the increase exceeds the
 * delays on a busy host.
 */
const FAR_LONGER = 2;
const FAR_LONGER_MS = 50;

/**
 * Counts the queries that took far longer than usual, and how many of these were in the first half of the run; null if
 * there are too few latencies. recalld sends queries in the order of the golden set, a few at a time. The latency of a
 * query that timed out is the time until the timeout.
 */
function slowQueries({ queries, answers }: ComparedSide) {
  const latencyOf = new Map(answers.map(({ queryId, latencyMs }) => [queryId, latencyMs]));
  const latencies = queries.flatMap(({ id }) => latencyOf.get(id) ?? []);
  if (latencies.length < MIN_TIMED) return null;
  const half = Math.floor(latencies.length / 2);
  const usual = medianOf(latencies.slice(half));
  const isSlow = (ms: number): boolean => ms >= FAR_LONGER * usual && ms - usual >= FAR_LONGER_MS;
  return { queries: latencies.filter(isSlow).length, early: latencies.slice(0, half).filter(isSlow).length };
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/**
 * Counts the returned documents, and how many of these have a judgment for any query. Returns 0 documents for a golden
 * set without judgments, because such a set does not show which documents are missing.
 */
function returnedBy({ queries, answers }: ComparedSide) {
  const judged = new Set(queries.flatMap(({ judgments }) => judgments.map(({ documentId }) => documentId)));
  const ids = judged.size === 0 ? [] : answers.flatMap(({ documents }) => documents.map(({ id }) => id));
  return { documents: ids.length, judged: ids.filter((id) => judged.has(id)).length };
}
