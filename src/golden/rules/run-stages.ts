/** What is kept of the stages of a retriever, with an answer and with a run. */
import type { MetricSummary } from '../../stats/descriptive.ts';

/** What one stage had of a question; kept with its answer in place of the whole list. */
export interface AnsweredStage {
  readonly name: string;
  /** One of several beside each other, which are joined after it. */
  readonly isSide: boolean;
  /** Different documents. */
  readonly documents: number;
  /** Its own time; null where nobody tells. */
  readonly latencyMs: number | null;
  /** Ranks from 1 of the judged documents that it had, each document counted once. */
  readonly ranks: Readonly<Record<string, number>>;
}

/** The last step: what the retriever answers, cut off at k. */
export const ANSWER = 'answer';

/** A stage, those beside each other as one, or the answer itself. */
export interface StageStep {
  /** `words and vectors` for two beside each other. */
  readonly name: string;
  /** Relevant documents among all that it hands on; of the answer, among its first k. */
  readonly recall: MetricSummary;
  /** Relevant documents that the step before had and neither this one nor a later one has; of the first, that it never finds. */
  readonly lost: MetricSummary;
  /** Questions by whether the first k hold a relevant document, after this step and before; null for the first, and after several beside each other. */
  readonly moved: MovedQuestions | null;
  /** Its own time, of the answers that tell it; null where none does. */
  readonly latencyP95Ms: number | null;
  readonly timed: number;
}

export interface MovedQuestions {
  /** That had no relevant document among the first k before this step, and have one after it. */
  readonly in: number;
  readonly out: number;
  /** Hit rate after less before, with its bounds (Newcombe). */
  readonly difference: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** That it is luck, two-sided (McNemar, exact). */
  readonly p: number;
}

export interface RunStages {
  readonly k: number;
  /** Questions with a relevant document whose answers tell of stages, and those that failed, which count as lost. */
  readonly n: number;
  /** Of these the failed. */
  readonly failed: number;
  /** Answered without a word of any stage, and left out. */
  readonly untold: number;
  /** Share of the relevant documents whose question failed. With what is lost at each step and found, it makes 1. */
  readonly lostToFailures: MetricSummary;
  /** In the order in which they work, the answer last. */
  readonly steps: readonly StageStep[];
}
