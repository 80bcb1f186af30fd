/**
 * What is known of a pipeline around an alarm: its golden runs beside the last good one and those of long before, and
 * whether what is wrong is wrong in the same way each time. Null is not measured, which is no sign of anything.
 */

import type { ContextSize } from '../../../core/text/context-size.ts';
import type { TopicCause } from '../../../density/rules/cause.ts';
import type { CanaryVerdict } from '../../../density/rules/measurement-change.ts';
import type { ComparedSide } from '../../../golden/rules/compare-golden-runs.ts';
import type { OutcomeCounts, QueryAnswer } from '../../../golden/rules/run.ts';
import { type RunFailure, runFailure } from '../../../golden/rules/run-failure.ts';
import type { RunMetricKey } from '../../../golden/rules/score-run.ts';
import type { ArrivalLag, WrongShare } from '../../../index/truth/rules/findings.ts';
import type { DropState } from '../../../judging/rules/judged-mean.ts';
import type { measuresOfScore } from '../../../judging/rules/judged-measures.ts';
import type { ScoredMeasure } from '../../../judging/rules/judged-scores.ts';
import type { Deployment } from '../../../live/deployments/rules/deployment.ts';
import { mean } from '../../../math/stats/descriptive.ts';
import {
  type OlderAnswers,
  type OlderRun,
  olderAnswers,
  type RepeatedAnswers,
  repeatedAnswers,
} from './answers-alike.ts';
import {
  type ChangedAnswers,
  changedAnswers,
  type ScoreLoss,
  type StagedSide,
  type StageLoss,
  scoreLoss,
  stageLoss,
  widestNdcg,
} from './changed-answers.ts';
import type { EffectKind } from './effects.ts';
import type { Samples } from './samples.ts';

export interface Observations {
  /** Effects of the failing checks; null if unknown. */
  readonly firing: readonly EffectKind[] | null;
  /** When it was first bad, as far as that is known; null when it is not. */
  readonly onset: Date | null;
  /** What the measured signs were measured on. */
  readonly samples: Samples;
  /** The golden run to explain; null if no set fails and no run ended. */
  readonly run: ObservedRun | null;
  readonly live: ObservedLive;
  /** Null where live queries are not judged, or nothing can be said of them now. */
  readonly relevance: ObservedRelevance | null;
  /** Whether the judge of live queries grades as it did; null without one, and while that is in doubt. */
  readonly judge: 'same' | 'changed' | null;
  readonly store: { readonly before: number | null; readonly now: number } | null;
  readonly annRecall: ObservedRecall | null;
  /** Null where no value belongs to the run, or none to a run before the onset. */
  readonly storeAgreement: ObservedAgreement | null;
  readonly missedVectors: ObservedMissed | null;
  readonly canary: ObservedCanary | null;
  /** Differences between index and manifest, by kind; empty without index checks. */
  readonly index: readonly WrongShare[];
  /** Delay of manifest changes; null without index checks, or with few changes. */
  readonly arrivals: ArrivalLag | null;
  /** Annotated and detected, since the last good look at the pipeline, newest first. */
  readonly deployments: readonly Deployment[];
  readonly density: ObservedDensity | null;
  /** Open topics that are not acknowledged, largest first; null if density is not monitored. */
  readonly topics: readonly ObservedTopic[] | null;
  readonly sentinel: { readonly hasFallen: boolean } | null;
  readonly ownWork: OwnWork | null;
}

export interface ObservedRun {
  readonly goldenSet: string;
  readonly outcomes: OutcomeCounts;
  /** The first real error and how often; null without failures. */
  readonly failure: RunFailure | null;
  readonly latency95Ms: number | null;
  /** Queries that took far longer than is usual in its second half, and how many of them are in the first; null for few. */
  readonly slow: { readonly queries: number; readonly early: number } | null;
  readonly labels: ObservedLabels | null;
  /** Queries with forbidden documents that were answered, and how many of these came back; null when the set has none. */
  readonly forbidden: { readonly asked: number; readonly results: number } | null;
  /** Documents that were returned, and those of them that the set judges for any query. */
  readonly returned: { readonly documents: number; readonly judged: number };
  /** Against the last good run, or else the baseline; null when there is neither. */
  readonly reference: ObservedReference | null;
  /** The measure whose threshold fails, in the first run of the set; null when none fails. */
  readonly level: ObservedLevel | null;
}

export interface ObservedLevel {
  /** Metric key, such as `ndcg@10`. */
  readonly measure: string;
  readonly now: number;
  /** In the first completed run of the set, which may be this one. */
  readonly first: number;
  /** Of the check. */
  readonly threshold: number;
  /** Judged live score of the same name, or the share of positive opinions; null without. */
  readonly opinions:
    | (Pick<ObservedValue, 'value' | 'ciLow' | 'ciHigh' | 'n'> & { readonly by: 'judge' | 'users' })
    | null;
}

export interface ObservedReference {
  readonly latency95Ms: number | null;
  /** Of the labels of the run at its time. */
  readonly goneBefore: number | null;
  readonly version: number;
  readonly isSameVersion: boolean;
  readonly answers: ChangedAnswers;
  /** Of the failing measure; null without queries. */
  readonly loss: ScoreLoss | null;
  /** Null where the retriever tells of no stages, then or now. */
  readonly stages: StageLoss | null;
  /** Null where the retriever gives no texts, then or now. */
  readonly texts: { readonly before: AnswerTexts; readonly now: AnswerTexts } | null;
  /** The bad run just before this one; null when this is the first. */
  readonly previous: { readonly answers: RepeatedAnswers | null; readonly latency95Ms: number | null } | null;
  readonly older: OlderAnswers | null;
}

/** Means over the answers whose results all came with their texts. */
export type AnswerTexts = ReturnType<typeof meanTexts>;

export interface ObservedLabels {
  /** Different judged documents that were looked up. */
  readonly probed: number;
  /** How many of them are superseded. */
  readonly stale: number;
  /** How many of them are lost. */
  readonly lost: number;
}

/** A share of live queries, with its lower 95 % bound, the queries behind it, and what it was before. */
export interface ObservedShare {
  readonly value: number;
  readonly ciLow: number;
  readonly n: number;
  readonly before: number | null;
}

/** A value of live traffic beside what it was before. */
export interface ObservedValue {
  readonly value: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Live queries or opinions behind it. */
  readonly n: number;
  readonly before: number;
}

export interface ObservedLive {
  /** Of those that fail or time out. */
  readonly errors: ObservedShare | null;
  /** Of those that get no document. */
  readonly empty: ObservedShare | null;
  /** 95th percentile in milliseconds, as the service tells it. */
  readonly latency: { readonly before: number; readonly now: number; readonly n: number } | null;
  /** Results of an answer that has any. */
  readonly results: ObservedValue | null;
  /** Characters of the texts of an answer. */
  readonly characters: ObservedValue | null;
  /** Share of the text of an answer that it says already. */
  readonly repeated: ObservedValue | null;
  /** Share of the most frequent query. */
  readonly topQuery: ObservedValue | null;
  /** Share of queries in the language that was usual. */
  readonly mainLanguage: ObservedValue | null;
  readonly feedback: ObservedFeedback | null;
}

export interface ObservedFeedback extends ObservedValue {
  /** `opinions`: the share of positive ones; `clicks`: the share of queries with a click. */
  readonly of: 'opinions' | 'clicks';
  /** Found by the watch over opinions, which sees a drop sooner than the bounds of the whole window do. */
  readonly isDrop: boolean;
}

export const nothingLive: ObservedLive = {
  errors: null,
  empty: null,
  latency: null,
  results: null,
  characters: null,
  repeated: null,
  topQuery: null,
  mainLanguage: null,
  feedback: null,
};

export type ObservedRelevance = ObservedDrop | ObservedScore;

/** A judged live score that lies below what it was before, all of its bounds. */
interface ObservedScore {
  readonly state: 'below';
  readonly measure: (typeof measuresOfScore)[ScoredMeasure][0];
  readonly value: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Live queries behind it. */
  readonly n: number;
  readonly before: number;
}

/** How far judged live nDCG lies below the weeks before. */
interface ObservedDrop {
  readonly drop: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Live queries behind it. */
  readonly n: number;
  readonly state: DropState;
}

export interface ObservedRecall {
  readonly before: number | null;
  readonly value: number;
  readonly ciHigh: number;
  readonly k: number;
}

export interface ObservedAgreement {
  readonly before: number;
  readonly now: number;
  /** Largest minus smallest value of the day before the onset. */
  readonly spread: number;
  /** Share of the documents that are among many more nearest ones. */
  readonly deep: { readonly before: number; readonly now: number };
}

export interface ObservedMissed {
  /** Share with a foreign vector, 0..1; null where no run before the onset had a value. */
  readonly before: number | null;
  readonly value: number;
  readonly ciLow: number;
  readonly n: number;
}

export interface ObservedCanary {
  readonly median: number;
  readonly least: number;
  readonly verdict: CanaryVerdict;
}

export interface ObservedDensity {
  readonly value: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** An alarm of it is open, and it is not known to be back already. */
  readonly hasFallen: boolean;
  /** How its alarm read the questions: `new`, `same`, or null when it did not say. */
  readonly questions: 'new' | 'same' | null;
}

export interface ObservedTopic {
  readonly id: string;
  readonly trafficShare: number;
  readonly cause: TopicCause;
}

export type OwnWork =
  | { readonly kind: 'done' }
  /** The event loop was held up, or the processors were taken, for these shares of the run: its latencies are too long. */
  | { readonly kind: 'starved'; readonly lateShare: number; readonly queuedShare: number }
  /** No run was started for `intervals` intervals of the schedule. */
  | { readonly kind: 'overdue'; readonly goldenSet: string; readonly intervals: number }
  /** A run did not end, although its retriever answered. */
  | { readonly kind: 'failed'; readonly goldenSet: string; readonly reason: string };

export interface RunsSeen {
  readonly goldenSet: string;
  readonly now: ComparedSide;
  readonly labels: ObservedLabels | null;
  readonly forbidden: ObservedRun['forbidden'];
  /** Ids of queries whose labels are not alive. */
  readonly stale: ReadonlySet<string>;
  /** The failing measure, if a golden run has it. */
  readonly key: RunMetricKey | null;
  readonly level: ObservedLevel | null;
  readonly reference: {
    readonly side: ComparedSide;
    readonly version: number;
    readonly isSameVersion: boolean;
    readonly goneBefore: number | null;
    /** What the stages of both had, by the id of the query; null where one of them tells of none. */
    readonly stages: Readonly<Record<'before' | 'now', StagedSide['stages']>> | null;
    /** Of the answers of both; empty where the retriever gives no texts. */
    readonly contexts: Readonly<Record<'before' | 'now', readonly ContextSize[]>>;
  } | null;
  /** The bad run just before; null when there is none. */
  readonly previous: ComparedSide | null;
  /** Good runs before the reference. */
  readonly older: readonly OlderRun[];
}

export function observedRun({ now, reference, previous, older, ...seen }: RunsSeen): ObservedRun {
  const { goldenSet, labels, forbidden, stale, key, level } = seen;
  const measured = {
    goldenSet,
    outcomes: countOutcomes(now.answers),
    failure: runFailure(now.answers),
    latency95Ms: latency95(now.answers),
    slow: slowQueries(now),
    labels,
    forbidden,
    returned: returnedBy(now),
    level,
  };
  if (reference === null) return { ...measured, reference: null };
  const { side, version, isSameVersion, goneBefore, stages, contexts } = reference;
  const isScored = key !== null && [side, now].every(({ settings }) => settings.cutoffs.includes(key.k));
  const measure = isScored ? key : widestNdcg(side, now);
  return {
    ...measured,
    reference: {
      latency95Ms: latency95(side.answers),
      goneBefore,
      version,
      isSameVersion,
      answers: changedAnswers(side, now, stale, measure),
      loss: scoreLoss(side, now, stale, measure),
      stages:
        stages === null ? null : stageLoss({ ...side, stages: stages.before }, { ...now, stages: stages.now }, stale),
      texts: textsOf(contexts),
      previous:
        previous === null
          ? null
          : { answers: repeatedAnswers(side, previous, now), latency95Ms: latency95(previous.answers) },
      older: olderAnswers(older, side, now),
    },
  };
}

/** Means over fewer answers say nothing. */
const MIN_TEXTS = 10;

function textsOf({ before, now }: NonNullable<RunsSeen['reference']>['contexts']): ObservedReference['texts'] {
  if (before.length < MIN_TEXTS || now.length < MIN_TEXTS) return null;
  return { before: meanTexts(before), now: meanTexts(now) };
}

function meanTexts(contexts: readonly ContextSize[]) {
  return {
    characters: mean(contexts.map(({ characters }) => characters)),
    /** Share of the text that the same answer says already. */
    repeated: mean(contexts.map(({ repeated }) => repeated)),
  };
}

function countOutcomes(answers: readonly QueryAnswer[]): OutcomeCounts {
  const counts = { ok: 0, empty: 0, error: 0, timeout: 0 };
  for (const { outcome } of answers) counts[outcome] += 1;
  return counts;
}

/** Of the answers that came, in milliseconds. */
function latency95(answers: readonly QueryAnswer[]): number | null {
  const latencies = answers
    .flatMap(({ outcome, latencyMs }) => (outcome === 'ok' || outcome === 'empty' ? (latencyMs ?? []) : []))
    .toSorted((a, b) => a - b);
  return latencies[Math.ceil(0.95 * latencies.length) - 1] ?? null;
}

const MIN_TIMED = 20;
/** A latency of twice the usual, and by more than a busy machine explains. */
const FAR_LONGER = 2;
const FAR_LONGER_MS = 50;

/** Queries are asked in the order of the set, a few at a time. Timeouts count as what they took. */
function slowQueries({ queries, answers }: ComparedSide): ObservedRun['slow'] {
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

/** Of a set without judgments nothing is known of what came back. */
function returnedBy({ queries, answers }: ComparedSide): ObservedRun['returned'] {
  const judged = new Set(queries.flatMap(({ judgments }) => judgments.map(({ documentId }) => documentId)));
  const ids = judged.size === 0 ? [] : answers.flatMap(({ documents }) => documents.map(({ id }) => id));
  return { documents: ids.length, judged: ids.filter((id) => judged.has(id)).length };
}
