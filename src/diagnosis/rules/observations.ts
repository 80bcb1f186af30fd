/** What is known of a pipeline around an alarm. Null is not measured, which is no sign of anything. */

import type { TopicCause } from '../../density/rules/cause.ts';
import type { CanaryVerdict } from '../../density/rules/embedding-canary.ts';
import type { Deployment } from '../../deployments/rules/deployment.ts';
import type { OutcomeCounts } from '../../golden/rules/run.ts';
import type { RunFailure } from '../../golden/rules/run-failure.ts';
import type { ArrivalLag, WrongShare } from '../../index-truth/rules/findings.ts';
import type { measuresOfScore } from '../../judging/rules/judged-measures.ts';
import type { ScoredMeasure } from '../../judging/rules/judged-scores.ts';
import type { DropState } from '../../judging/rules/relevance-drop.ts';
import type { EffectKind } from './cause.ts';
import type { ChangedAnswers, ScoreLoss, StageLoss } from './changed-answers.ts';
import type { OlderAnswers, RepeatedAnswers } from './repeated-answers.ts';

export interface Observations {
  /** What the checks in alarm are about; null when that is not known. */
  readonly alarmed: readonly EffectKind[] | null;
  /** The golden run that is looked at; null when none is in alarm and none ended. */
  readonly run: ObservedRun | null;
  readonly live: ObservedLive;
  /** Null where live queries are not judged, or nothing can be said of them now. */
  readonly relevance: ObservedRelevance | null;
  /** Whether the judge of live queries grades as it did; null without one, and while that is in doubt. */
  readonly judge: 'same' | 'changed' | null;
  readonly store: { readonly before: number | null; readonly now: number } | null;
  readonly annRecall: ObservedRecall | null;
  readonly canary: ObservedCanary | null;
  /** What is wrong with the index against its manifest, by kind; empty where nobody looks. */
  readonly index: readonly WrongShare[];
  /** Of changes in the manifest; null where nobody looks, or few came. */
  readonly arrivals: ArrivalLag | null;
  /** Annotated and detected, since the last good look at the pipeline, newest first. */
  readonly deployments: readonly Deployment[];
  readonly density: ObservedDensity | null;
  /** Open topics that nobody has acknowledged, largest first; null when density is not watched. */
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
}

export interface ObservedReference {
  readonly latency95Ms: number | null;
  /** Of the labels of the run at its time. */
  readonly staleBefore: number | null;
  readonly version: number;
  readonly isSameVersion: boolean;
  readonly answers: ChangedAnswers;
  /** Of the measure in alarm; null without queries. */
  readonly loss: ScoreLoss | null;
  /** Null where the retriever tells of no stages, then or now. */
  readonly stages: StageLoss | null;
  /** The bad run just before this one; null when this is the first. */
  readonly previous: { readonly answers: RepeatedAnswers | null; readonly latency95Ms: number | null } | null;
  readonly older: OlderAnswers | null;
}

export interface ObservedLabels {
  /** Different judged documents that were looked for, and how many are gone. */
  readonly probed: number;
  readonly stale: number;
}

/** A share of live queries, with its lower 95 % bound, the queries behind it, and what it was before. */
export interface ObservedShare {
  readonly value: number;
  readonly ciLow: number;
  readonly n: number;
  readonly before: number | null;
}

export interface ObservedLive {
  /** Of those that fail or time out. */
  readonly errors: ObservedShare | null;
  /** Of those that get no document. */
  readonly empty: ObservedShare | null;
}

export type ObservedRelevance = ObservedDrop | ObservedScore;

/** A judged live score that lies below what it was before, all of its bounds. */
export interface ObservedScore {
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
  /** No run was started for `intervals` intervals of the schedule. */
  | { readonly kind: 'overdue'; readonly goldenSet: string; readonly intervals: number }
  /** A run did not end, although its retriever answered. */
  | { readonly kind: 'failed'; readonly goldenSet: string; readonly reason: string };
