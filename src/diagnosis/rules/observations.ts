/** What is known of a pipeline around an alarm. Null is not measured, which is no sign of anything. */

import type { TopicCause } from '../../density/rules/cause.ts';
import type { CanaryVerdict } from '../../density/rules/embedding-canary.ts';
import type { Deployment } from '../../deployments/rules/deployment.ts';
import type { OutcomeCounts } from '../../golden/rules/run.ts';
import type { ChangedAnswers } from './changed-answers.ts';

export interface Observations {
  /** The golden run that is looked at; null when none is in alarm and none ended. */
  readonly run: ObservedRun | null;
  readonly live: ObservedLive | null;
  readonly store: { readonly before: number | null; readonly now: number } | null;
  readonly annRecall: ObservedRecall | null;
  readonly canary: ObservedCanary | null;
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
  /** The error code that most failures have; null without failures. */
  readonly commonError: string | null;
  readonly latency95Ms: number | null;
  readonly labels: ObservedLabels | null;
  /** Against the last good run, or else the baseline; null when there is neither. */
  readonly reference: {
    readonly latency95Ms: number | null;
    /** Of the labels of the run at its time. */
    readonly staleBefore: number | null;
    readonly version: number;
    readonly isSameVersion: boolean;
    /** Null when not a query of it was answered in both runs. */
    readonly answers: ChangedAnswers | null;
  } | null;
}

export interface ObservedLabels {
  /** Different judged documents that were looked for, and how many are gone. */
  readonly probed: number;
  readonly stale: number;
}

export interface ObservedLive {
  /** Share of live queries that fail, with its lower 95 % bound and the queries behind it. */
  readonly errorRatio: number;
  readonly ciLow: number;
  readonly n: number;
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
